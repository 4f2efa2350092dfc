import { createHash } from 'node:crypto';
import { type Bill, type CacheRules, type Opening, tokensIn } from './bill.ts';
import { itemsOf, memberOf, parseRaw, type Raw, textOf, writeRaw } from './raw-json.ts';

/**
 * The prompt cache of the messages protocol's vendor, written from its documentation (prompt-caching and SDK types). It
 * shares nothing with the codecs of this project, and reads the body as text: an order of members or a `1.0` counts.
 */
export type AnthropicOptions = {
  /** Fewer tokens are not stored. @default that of the model */
  minimum?: number;
  /** The vendor counts a run of calls, or of results, as one position of the window; Bedrock each block. */
  runs?: 'one' | 'each';
};

/** The largest where the model is not known. */
const MINIMUMS: [pattern: RegExp, tokens: number][] = [
  [/opus-5|fable-5|mythos-5/, 512],
  [/sonnet-5|sonnet-4-[56]|opus-4-8|opus-4-1|opus-4$/, 1_024],
  [/opus-4-7|haiku-3-5|3-5-haiku/, 2_048],
];
const LARGEST_MINIMUM = 4_096;
const minimumOf = (model: string): number =>
  MINIMUMS.find(([pattern]) => pattern.test(model))?.[1] ?? LARGEST_MINIMUM;

const MAX_MARKS = 4;
const WINDOW = 20;
const TTLS: Record<string, number> = { '5m': 300_000, '1h': 3_600_000 };

type Ttl = '5m' | '1h';

type Block = {
  level: 'tools' | 'system' | 'messages';
  role: string;
  type: string;
  text: string;
  raw: Raw;
  /** Of each mark on it or in it. */
  marks: Raw[];
};

const MARK = 'cache_control';

/** Marks inside a result count for the result. */
const marksIn = (raw: Raw): Raw[] => {
  if (raw.kind !== 'object') return [];
  const own = memberOf(raw, MARK);
  const isMarked = own !== undefined && textOf(own) !== 'null';
  return [...(isMarked ? [own] : []), ...itemsOf(memberOf(raw, 'content')).flatMap(marksIn)];
};

const blockOf = (level: Block['level'], role: string, raw: Raw): Block => ({
  level,
  role,
  type: textOf(memberOf(raw, 'type')) ?? level,
  text: writeRaw(raw, MARK),
  raw,
  marks: marksIn(raw),
});

const textBlock = (text: string): Raw => ({
  kind: 'object',
  members: [
    ['type', { kind: 'text', text: 'text' }],
    ['text', { kind: 'text', text }],
  ],
});

/** A string is one block of text. */
const partsOf = (content: Raw | undefined): Raw[] =>
  content?.kind === 'text' ? [textBlock(content.text)] : itemsOf(content);

const blocksOf = (body: Raw): Block[] => [
  ...itemsOf(memberOf(body, 'tools')).map((tool) => blockOf('tools', '', tool)),
  ...partsOf(memberOf(body, 'system')).map((part) => blockOf('system', '', part)),
  ...itemsOf(memberOf(body, 'messages')).flatMap((message) => {
    const role = textOf(memberOf(message, 'role')) ?? '';
    return partsOf(memberOf(message, 'content')).map((part) => blockOf('messages', role, part));
  }),
];

/** What is rendered before the first message, and changes all of them. */
const PARAMETERS = ['thinking', 'tool_choice', 'output_config'];

/** The hash of everything up to each block, as many as there are blocks and one. */
const chainOf = (body: Raw, blocks: Block[]): string[] => {
  const next = (before: string, ...parts: string[]) =>
    createHash('sha256')
      .update(JSON.stringify([before, ...parts]))
      .digest('hex');
  const chain = [next('', textOf(memberOf(body, 'model')) ?? '')];
  let isInMessages = false;
  for (const { level, role, text } of blocks) {
    let before = chain.at(-1) ?? '';
    if (level === 'messages' && !isInMessages) {
      isInMessages = true;
      before = next(
        before,
        ...PARAMETERS.map((name) => {
          const value = memberOf(body, name);
          return value === undefined ? '' : writeRaw(value);
        }),
      );
    }
    chain.push(next(before, level, role, text));
  }
  return chain;
};

/** The place of each block in the window that is searched. */
const positionsOf = (blocks: Block[], runs: 'one' | 'each'): number[] => {
  let position = 0;
  return blocks.map(({ type, level }, index) => {
    const before = blocks[index - 1];
    const isRun =
      runs === 'one' &&
      level === 'messages' &&
      (type === 'tool_use' || type === 'tool_result') &&
      before?.type === type;
    if (!isRun) position += 1;
    return position;
  });
};

type Mark = { index: number; ttl: Ttl };

const UNMARKABLE = new Set(['thinking', 'redacted_thinking']);

const ttlOf = (mark: Raw): string => textOf(memberOf(mark, 'ttl')) ?? '5m';

/** Why the vendor rejects the marks; undefined if it does not. */
const rejectionOf = (marked: { block: Block; mark: Raw }[]): string | undefined => {
  if (marked.length > MAX_MARKS) {
    return `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${marked.length}.`;
  }
  let hasShort = false;
  for (const { block, mark } of marked) {
    const ttl = ttlOf(mark);
    if (textOf(memberOf(mark, 'type')) !== 'ephemeral')
      return 'cache_control.type: must be ephemeral';
    if (!(ttl in TTLS)) return "cache_control.ttl: Input should be '5m' or '1h'";
    if (UNMARKABLE.has(block.type)) return `${block.type} blocks cannot have cache_control`;
    if (block.type === 'text' && textOf(memberOf(block.raw, 'text')) === '') {
      return 'cache_control cannot be set for empty text blocks';
    }
    if (ttl === '1h' && hasShort) return "a ttl='1h' block must not come after a ttl='5m' block";
    hasShort ||= ttl === '5m';
  }
  return undefined;
};

/** The marks in their order: explicit ones, and that of the top level on the last block that can have one. */
const readMarks = (body: Raw, blocks: Block[]): { marks: Mark[] } | { rejection: string } => {
  const marked = blocks.flatMap((block, index) =>
    block.marks.map((mark) => ({ block, mark, index })),
  );
  const automatic = memberOf(body, MARK);
  if (automatic !== undefined) {
    const index = blocks.findLastIndex(({ type }) => !UNMARKABLE.has(type));
    const block = blocks[index];
    const own = marked.find((one) => one.index === index);
    if (own && ttlOf(own.mark) !== ttlOf(automatic))
      return { rejection: 'cache_control: another ttl' };
    if (block && !own) marked.push({ block, mark: automatic, index });
  }
  const rejection = rejectionOf(marked);
  if (rejection !== undefined) return { rejection };
  return { marks: marked.map(({ mark, index }) => ({ index, ttl: ttlOf(mark) as Ttl })) };
};

type Entry = { ttl: Ttl; expires: number };

export const createAnthropicCache = (options: AnthropicOptions = {}): CacheRules => {
  /** By account and hash. */
  const entries = new Map<string, Entry>();

  /** The first entry back from a mark, within the window. */
  const findFrom = (keys: string[], positions: number[], mark: number, now: number): number => {
    const first = (positions[mark] ?? 0) - WINDOW;
    return keys.findLastIndex(
      (key, at) =>
        at <= mark && (positions[at] ?? 0) > first && (entries.get(key)?.expires ?? 0) > now,
    );
  };

  const find = (keys: string[], positions: number[], marks: Mark[], now: number): number => {
    for (const { index } of marks.toReversed()) {
      const at = findFrom(keys, positions, index, now);
      const entry = entries.get(keys[at] ?? '');
      if (!entry) continue;
      entry.expires = now + (TTLS[entry.ttl] ?? 0);
      return at;
    }
    return -1;
  };

  const open = (text: string, account: string, now: number): Opening => {
    const body = parseRaw(text);
    const blocks = blocksOf(body);
    const read = readMarks(body, blocks);
    if ('rejection' in read) return read;
    const minimum = options.minimum ?? minimumOf(textOf(memberOf(body, 'model')) ?? '');
    const sums: number[] = [];
    for (const { text: own } of blocks) sums.push((sums.at(-1) ?? 0) + tokensIn(own));
    const upTo = (index: number) => sums[index] ?? 0;
    const keys = chainOf(body, blocks)
      .slice(1)
      .map((hash) => `${account} ${hash}`);
    const marks = read.marks.filter(({ index }) => upTo(index) >= minimum);
    const hit = upTo(find(keys, positionsOf(blocks, options.runs ?? 'one'), marks, now));
    const long = Math.max(
      hit,
      ...marks.filter(({ ttl }) => ttl === '1h').map(({ index }) => upTo(index)),
    );
    const last = Math.max(long, ...marks.map(({ index }) => upTo(index)));
    const bill: Bill = {
      read: hit,
      written1h: long - hit,
      written5m: last - long,
      fresh: (sums.at(-1) ?? 0) - last,
    };
    const begin = () => {
      for (const { index, ttl } of marks) {
        const known = entries.get(keys[index] ?? '');
        const isLonger = known && known.expires > now && known.ttl === '1h';
        entries.set(keys[index] ?? '', {
          ttl: isLonger ? '1h' : ttl,
          expires: now + (TTLS[isLonger ? '1h' : ttl] ?? 0),
        });
      }
    };
    return { bill, marks: read.marks.length, begin };
  };

  return { open, evict: () => entries.clear() };
};
