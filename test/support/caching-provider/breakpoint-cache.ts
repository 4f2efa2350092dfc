import { createHash } from 'node:crypto';
import { type CacheRules, type Opening, tokensIn } from './bill.ts';
import { itemsOf, memberOf, parseRaw, type Raw, textOf, writeRaw } from './raw-json.ts';

/**
 * The prompt cache of the chat protocol's vendor from GPT-5.6 on, written from its guide and types: a prefix of at least 1,024
 * tokens is stored at a breakpoint, to the token, and read only at one. One is implicit, at the end of the latest message, unless
 * `prompt_cache_options.mode` is `explicit`; a request writes the latest three of the others with it, or four without it. Of a
 * conversation the latest 80 places are looked up.
 */
const FIRST_TOKENS = 1_024;
const MOST_READ = 80;
const MOST_WRITTEN = 4;
const POINT = 'prompt_cache_breakpoint';
const MINUTE_MS = 60_000;
const LIVES_MS: Record<string, number> = { '30m': 30 * MINUTE_MS, '12h': 720 * MINUTE_MS };

type Point = { key: string; tokens: number; isMarked: boolean; ttl: string | undefined };
type Part = { text: string; mark: Raw | undefined };

/** A text is one part of it. */
const partsOf = (message: Raw): Part[] => {
  const content = memberOf(message, 'content');
  const text = textOf(content);
  const parts = itemsOf(content).map((part) => ({
    text: textOf(memberOf(part, 'text')) ?? writeRaw(part, POINT),
    mark: memberOf(part, POINT),
  }));
  return [
    { text: writeRaw(message, 'content'), mark: undefined },
    ...(text === undefined ? parts : [{ text, mark: undefined }]),
  ];
};

/** Where the prompt can be cut: ends of messages, and what is marked. */
const pointsOf = (body: Raw, account: string): { points: Point[]; tokens: number } => {
  const chain = createHash('sha256').update(account);
  let characters = 0;
  const add = (text: string): void => {
    chain.update(`${text}\n`);
    characters += text.length;
  };
  add(textOf(memberOf(body, 'prompt_cache_key')) ?? '');
  characters = 0;
  for (const name of ['model', 'tools', 'response_format']) {
    const value = memberOf(body, name);
    if (value !== undefined) add(writeRaw(value));
  }
  const points: Point[] = [];
  for (const message of itemsOf(memberOf(body, 'messages'))) {
    const parts = partsOf(message);
    for (const [index, { text, mark }] of parts.entries()) {
      add(text);
      if (mark === undefined && index < parts.length - 1) continue;
      const ttl = textOf(memberOf(mark, 'ttl'));
      const key = chain.copy().digest('hex');
      const tokens = tokensIn(' '.repeat(characters));
      points.push({ key, tokens, isMarked: mark !== undefined, ttl });
    }
  }
  return { points, tokens: tokensIn(' '.repeat(characters)) };
};

export const createBreakpointCache = (): CacheRules => {
  /** When an entry expires, by its prefix. */
  const entries = new Map<string, number>();
  const open = (text: string, account: string, now: number): Opening => {
    const body = parseRaw(text);
    const options = memberOf(body, 'prompt_cache_options');
    const isExplicit = textOf(memberOf(options, 'mode')) === 'explicit';
    const usual = textOf(memberOf(options, 'ttl')) ?? '30m';
    const { points, tokens } = pointsOf(body, account);
    const marked = points.filter(({ isMarked }) => isMarked);
    const lifeOf = ({ ttl = usual }: Point): number => LIVES_MS[ttl] ?? 0;
    if (marked.some((point) => lifeOf(point) === 0)) return { rejection: `${POINT}.ttl: unknown` };
    const written = isExplicit
      ? marked.slice(-MOST_WRITTEN)
      : [...marked.slice(1 - MOST_WRITTEN), ...points.slice(-1)];
    const isLong = ({ tokens: own }: Point) => own >= FIRST_TOKENS;
    const hit = (isExplicit && marked.length === 0 ? [] : points.slice(-MOST_READ))
      .filter(isLong)
      .findLast(({ key }) => (entries.get(key) ?? 0) > now);
    const store = (all: Point[]) => {
      for (const point of all) {
        const until = Math.max(entries.get(point.key) ?? 0, now + lifeOf(point));
        entries.set(point.key, until);
      }
    };
    if (hit) store([hit]);
    const read = hit?.tokens ?? 0;
    const end = Math.max(read, ...written.filter(isLong).map((point) => point.tokens));
    return {
      bill: { read, written5m: end - read, written1h: 0, fresh: tokens - end },
      marks: marked.length,
      begin: () => store(written.filter(isLong)),
    };
  };
  return { open, evict: () => entries.clear() };
};
