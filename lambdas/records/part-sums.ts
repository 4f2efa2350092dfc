import type { Block, MediaSource, Turn } from '../protocols/generation.ts';

/** Texts of a part one behind the other, a byte for each character: as UTF-8, a text with a dash takes 100 times as long. */
const words = new Int32Array(16_384);
const bytes = Buffer.from(words.buffer);
/** Characters of a text that fits, with a word for its length and one for its last bytes. */
const LONGEST = 4 * (words.length - 2);

const FACTOR = 0x5bd1e995;

/** Four words that are stored nowhere, so that sums tell nothing about a text, and those of two keys cannot be compared. */
export type Key = readonly [number, number, number, number];

const HEX = 16;
const WORD = 8;

/** Of 32 hexadecimal digits. */
export const keyOf = (secret: string): Key => {
  const word = (at: number) => Number.parseInt(secret.slice(at * WORD, (at + 1) * WORD), HEX) | 0;
  return [word(0), word(1), word(2), word(3)];
};

/** Of texts in their order: how many words are filled, the sum of those before them, and how many characters it has. */
export type Sum = { key: Key; filled: number; value: number; size: number };

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
export const sumLengths = (
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

export const sumOfTurns = (turns: readonly Turn[], key: Key, seed: number): Sum => {
  const sum = sumFrom(key, seed);
  for (const turn of turns) addTurn(sum, turn, addText);
  flush(sum);
  return sum;
};

export const sumOfText = (text: string, key: Key, seed: number): number => {
  const sum = sumFrom(key, seed);
  addText(sum, text);
  flush(sum);
  return sum.value;
};
