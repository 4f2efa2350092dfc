import type { Block, MediaSource, Turn } from '../protocols/generation.ts';

/** Texts of a part one behind the other, a byte for each character: as UTF-8, a text with a dash takes 100 times as long. */
const words = new Int32Array(16_384);
const bytes = Buffer.from(words.buffer);
/** Characters of a text that fits, with a word for its length and one for its last bytes. */
const LONGEST = 4 * (words.length - 2);

const FACTOR = 0x5bd1e995;

/**
 * Of every word, as who edits a time or a number keeps the length of a text: a change of one word is never missed. Four lanes, which the processor computes at once, take half the time
 * of Node's CRC-32, and a call of it for each text takes as long again.
 */
const mixed = (count: number, seed: number): number => {
  let [a, b, c, d] = [seed, 1, 2, 3];
  for (let at = 0; at < count; at += 4) {
    a = Math.imul(a ^ (words[at] ?? 0), FACTOR);
    b = Math.imul(b ^ (words[at + 1] ?? 0), FACTOR);
    c = Math.imul(c ^ (words[at + 2] ?? 0), FACTOR);
    d = Math.imul(d ^ (words[at + 3] ?? 0), FACTOR);
  }
  const ab = Math.imul(a ^ (a >>> 15), FACTOR) ^ b;
  const cd = Math.imul(c ^ (c >>> 15), FACTOR) ^ d;
  return Math.imul(ab ^ (ab >>> 15), FACTOR) ^ cd;
};

/** Of texts in their order: how many words are filled, and the sum of those before them. */
export type Sum = { filled: number; value: number; size: number };

const flush = (sum: Sum): void => {
  for (let at = sum.filled; at % 4 > 0; at += 1) words[at] = 0;
  if (sum.filled > 0) sum.value = mixed(sum.filled, sum.value);
  sum.filled = 0;
};

export const addText = (sum: Sum, text: string): void => {
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

/** Who edits a text of the history mostly changes its length; for the others, each turn's characters are known once. */
export const addShape: Add = (sum, text) => {
  const shape = text.length ^ (text.charCodeAt(text.length >> 1) << 16);
  const value = Math.imul(sum.value ^ shape, FACTOR);
  sum.value = value ^ (value >>> 15);
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

export const sumOfTurn = ({ role, blocks }: Turn, add: Add, seed: number): Sum => {
  const sum = { filled: 0, value: role === 'user' ? seed : ~seed, size: 0 };
  for (const block of blocks) addBlock(sum, block, add);
  flush(sum);
  return sum;
};

export const sumOfText = (text: string): number => {
  const sum = { filled: 0, value: 0, size: 0 };
  addText(sum, text);
  flush(sum);
  return sum.value;
};
