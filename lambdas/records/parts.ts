import type { Block, GenerationRequest, MediaSource, Turn } from '../protocols/generation.ts';

/** Texts of a part one behind the other, a byte for each character: as UTF-8, a text with a dash takes 100 times as long. */
const words = new Int32Array(16_384);
const bytes = Buffer.from(words.buffer);
/** Characters of a text that fits, with a word for its length and one for its last bytes. */
const LONGEST = 4 * (words.length - 2);

const FACTOR = 0x5bd1e995;

/** Four words that are stored nowhere, so that sums tell nothing about a text, and those of two keys cannot be compared. */
type Key = readonly [number, number, number, number];

const WORD = 8;

/** Of 32 hexadecimal digits. */
const keyOf = (secret: string): Key => {
  const word = (at: number) => Number.parseInt(secret.slice(at * WORD, (at + 1) * WORD), 16) | 0;
  return [word(0), word(1), word(2), word(3)];
};

/** Of texts in their order: how many words are filled, the sum of those before them, and how many characters it has. */
type Sum = { key: Key; filled: number; value: number; size: number };

const sumFrom = (key: Key, seed: number): Sum => ({ key, filled: 0, value: seed, size: 0 });

const stirred = (one: number, other: number): number =>
  Math.imul(one ^ (one >>> 15), FACTOR) ^ other;

/**
 * Of every word, as who edits a time or a number keeps the length of a text: a change of one word is never missed. Four lanes,
 * which the processor computes at once, take half the time of Node's CRC-32, and a call of it for each text takes as long again.
 */
const mixed = (count: number, { key, value }: Sum): number => {
  let [a, b, c, d] = key;
  a ^= value;
  for (let at = 0; at < count; at += 4) {
    a = Math.imul(a ^ (words[at] ?? 0), FACTOR);
    b = Math.imul(b ^ (words[at + 1] ?? 0), FACTOR);
    c = Math.imul(c ^ (words[at + 2] ?? 0), FACTOR);
    d = Math.imul(d ^ (words[at + 3] ?? 0), FACTOR);
  }
  return stirred(stirred(a, b), stirred(c, d));
};

const flush = (sum: Sum): void => {
  for (let at = sum.filled; at % 4 > 0; at += 1) words[at] = 0;
  if (sum.filled > 0) sum.value = mixed(sum.filled, sum);
  sum.filled = 0;
};

const addText = (sum: Sum, text: string): void => {
  sum.size += text.length;
  for (let from = 0; from === 0 || from < text.length; from += LONGEST) {
    const piece = text.length > LONGEST ? text.slice(from, from + LONGEST) : text;
    const size = (piece.length >> 2) + 2;
    if (sum.filled + size > words.length) flush(sum);
    words[sum.filled] = piece.length;
    words[sum.filled + size - 1] = 0;
    bytes.write(piece, 4 * (sum.filled + 1), 'latin1');
    sum.filled += size;
  }
};

type Add = (sum: Sum, text: string) => void;

/** Reads no character: in a long history each would be a miss of the processor's caches. */
const addLength: Add = (sum, text) => {
  sum.value = stirred(Math.imul(sum.value ^ text.length, FACTOR), sum.key[1]);
};

const isSet = (name: string, value: unknown): unknown =>
  name === 'cache_control' || name === 'prompt_cache_breakpoint' ? undefined : value;

const sourceOf = (source: MediaSource | { kind: 'text'; text: string }): string => {
  if (source.kind === 'base64') return source.data;
  return source.kind === 'url' ? source.url : source.text;
};

const addBlock = (sum: Sum, block: Block, add: Add): void => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      add(sum, block.text);
      break;
    case 'tool-call':
      add(sum, block.name + block.id);
      add(sum, block.arguments);
      break;
    case 'tool-result':
      add(sum, block.callId);
      for (const inner of block.content) addBlock(sum, inner, add);
      break;
    case 'image':
    case 'document':
      add(sum, sourceOf(block.source));
      break;
    case 'native':
      add(sum, JSON.stringify(block.value, isSet));
      break;
  }
};

const addTurn = (sum: Sum, { role, blocks }: Turn, add: Add): void => {
  if (role !== 'user') sum.value = ~sum.value;
  for (const block of blocks) addBlock(sum, block, add);
};

/** Gives `take` a sum of the lengths of each turn's texts: who edits a text of the history mostly changes its length. */
const sumLengths = (
  turns: readonly Turn[],
  key: Key,
  take: (index: number, value: number) => void,
): void => {
  const sum = sumFrom(key, 0);
  turns.forEach((turn, index) => {
    sum.value = index ^ key[0];
    addTurn(sum, turn, addLength);
    take(index, stirred(sum.value, key[2]));
  });
};

const sumOfTurns = (turns: readonly Turn[], key: Key, seed: number): Sum => {
  const sum = sumFrom(key, seed);
  for (const turn of turns) addTurn(sum, turn, addText);
  flush(sum);
  return sum;
};

const sumOfText = (text: string, key: Key, seed: number): number => {
  const sum = sumFrom(key, seed);
  addText(sum, text);
  flush(sum);
  return sum.value;
};

/**
 * Hashes of a prompt's parts, by which requests of a session are compared. They are summed with words that are derived from the
 * caller's key, which is stored nowhere, and from its session. At most 132 numbers of 16 bits: for tools, system and parameters,
 * the number of turns, and for each turn, or for each group of 2, 4, … of many: of its lengths for all of them, and of every
 * character for the latest. A turn's characters are in the hashes of the request in which it was new.
 */
const MAX_GROUPS = 64;
const MOST_TURNS = 0xffff;
/** Tokens of a prompt below which no provider caches any. */
export const LEAST_CACHED = 1_024;
/** Characters at the end of a prompt that are always summed. */
const LEAST_SUMMED = 8_192;

export const strideOf = (count: number): number => {
  let stride = 1;
  while (count / stride > MAX_GROUPS) stride *= 2;
  return stride;
};

const folded = (sum: number): number => sum ^ (sum >>> 16);

/** Of the lengths of all turns, and behind them of the characters of the latest. */
const hashHistory = (history: Turn[], key: Key, fresh: number): number[] => {
  const stride = strideOf(history.length);
  const groups: number[] = new Array(Math.ceil(history.length / stride)).fill(0);
  const texts = [...groups];
  const put = (sums: number[], index: number, value: number) => {
    const group = Math.floor(index / stride);
    sums[group] = (sums[group] ?? 0) ^ folded(value);
  };
  sumLengths(history, key, (index, value) => put(groups, index, value));
  let left = Math.max(fresh, LEAST_SUMMED);
  let from = history.length;
  while (from > 0 && left > 0) {
    const turn = history.slice(from - 1, from);
    from -= 1;
    const { value, size } = sumOfTurns(turn, key, from);
    put(texts, from, value);
    left -= size;
  }
  return groups.concat(texts.slice(Math.ceil(from / stride)));
};

/**
 * `tools` is the text of the tools as they were sent, which is five times as fast as to write them again; `fresh` is about how many
 * characters at the end of the prompt its provider has not read from a cache: those before them are as they were.
 */
export const hashParts = (
  { turns, toolChoice, reasoning, responseFormat }: GenerationRequest,
  { tools, fresh, secret }: { tools: string; fresh: number; secret: string },
): Uint16Array => {
  const key = keyOf(secret);
  const first = turns.findIndex(({ role }) => role !== 'system');
  const start = first === -1 ? turns.length : first;
  const history = turns.slice(start);
  const parameters = JSON.stringify([toolChoice, reasoning, responseFormat]);
  return Uint16Array.of(
    folded(sumOfText(tools, key, -1)),
    folded(sumOfTurns(turns.slice(0, start), key, -2).value),
    folded(sumOfText(parameters, key, -3)),
    Math.min(history.length, MOST_TURNS),
    ...hashHistory(history, key, fresh),
  );
};
