import { createHash } from 'node:crypto';
import { type CacheRules, type Opening, tokensIn } from './bill.ts';
import { itemsOf, memberOf, parseRaw, type Raw, textOf, writeRaw } from './raw-json.ts';

/**
 * The automatic prompt cache of the chat protocol's vendor before GPT-5.6, written from its guide: an exact prefix of at
 * least 1,024 tokens, in steps of 128, on the machine that the prefix and `prompt_cache_key` choose.
 */
const FIRST_TOKENS = 1_024;
const STEP_TOKENS = 128;
const CHARACTERS = 4;
/** The part of the prompt that chooses a machine, with the key. */
const ROUTED_TOKENS = 256;
/** Requests of one prefix and key in a minute that one machine takes; those above go to others. */
const PER_MACHINE = 15;
const MINUTE_MS = 60_000;
/** Idle, in memory: 5 to 10 minutes. */
const IN_MEMORY_MS = 300_000;
const EXTENDED_MS = 86_400_000;

const isSystem = (turn: Raw): boolean => textOf(memberOf(turn, 'role')) === 'system';

/** As the template of DeepSeek V3 and R1 in their repositories, which collects them before the conversation. */
const systemFirst = (turns: Raw[]): Raw[] => [
  ...turns.filter(isSystem),
  ...turns.filter((turn) => !isSystem(turn)),
];

/** What the model reads, in its order. */
const promptOf = (body: Raw, hoistsSystem: boolean): string => {
  const turns = itemsOf(memberOf(body, 'messages'));
  const parts = ['model', 'tools', 'response_format'].map((name) => {
    const value = memberOf(body, name);
    return value === undefined ? '' : writeRaw(value);
  });
  const read = hoistsSystem ? systemFirst(turns) : turns;
  return [...parts, ...read.map((turn) => writeRaw(turn))].join('\n');
};

/** The hash of each prefix that may be stored, shortest first. */
const prefixesOf = (prompt: string): { tokens: number; hash: string }[] => {
  const chain = createHash('sha256');
  const prefixes: { tokens: number; hash: string }[] = [];
  let from = 0;
  for (let tokens = FIRST_TOKENS; tokens * CHARACTERS <= prompt.length; tokens += STEP_TOKENS) {
    chain.update(prompt.slice(from, tokens * CHARACTERS));
    from = tokens * CHARACTERS;
    prefixes.push({ tokens, hash: chain.copy().digest('hex') });
  }
  return prefixes;
};

export const createOpenAiCache = (hoistsSystem = false): CacheRules => {
  /** When an entry expires, by account, machine and hash. */
  const entries = new Map<string, number>();
  /** When the latest requests came, by account, prefix and key. */
  const latest = new Map<string, number[]>();

  const machineOf = (prompt: string, key: string, account: string, now: number): string => {
    const route = `${account} ${key} ${prompt.slice(0, ROUTED_TOKENS * CHARACTERS)}`;
    const recent = (latest.get(route) ?? []).filter((at) => at > now - MINUTE_MS);
    latest.set(route, [...recent, now]);
    return `${route} ${Math.floor(recent.length / PER_MACHINE)}`;
  };

  const open = (text: string, account: string, now: number): Opening => {
    const body = parseRaw(text);
    const prompt = promptOf(body, hoistsSystem);
    const machine = machineOf(
      prompt,
      textOf(memberOf(body, 'prompt_cache_key')) ?? '',
      account,
      now,
    );
    const isExtended = textOf(memberOf(body, 'prompt_cache_retention')) === '24h';
    const lifetime = isExtended ? EXTENDED_MS : IN_MEMORY_MS;
    const prefixes = prefixesOf(prompt).map(({ tokens, hash }) => ({
      tokens,
      key: createHash('sha256').update(`${machine} ${hash}`).digest('hex'),
    }));
    const store = (shown: typeof prefixes) => {
      for (const { key } of shown)
        entries.set(key, Math.max(entries.get(key) ?? 0, now + lifetime));
    };
    const hit = prefixes.findLastIndex(({ key }) => (entries.get(key) ?? 0) > now);
    store(prefixes.slice(0, hit + 1));
    const read = prefixes[hit]?.tokens ?? 0;
    const fresh = tokensIn(prompt) - read;
    return {
      bill: { read, fresh, written5m: 0, written1h: 0 },
      marks: 0,
      begin: () => store(prefixes),
    };
  };

  return { open, evict: () => entries.clear() };
};
