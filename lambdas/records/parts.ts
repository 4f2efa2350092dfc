import type { Block, GenerationRequest, MediaSource, Turn } from '../protocols/generation.ts';
import { maskOf } from './mask.ts';

/**
 * Hashes of a prompt's parts, by which requests of a session are compared. A checksum is masked with bits that are
 * derived from the caller's key, which is stored nowhere, and from its session: the hashes tell nothing about a text, and those of
 * two sessions cannot be compared. One text of at most 300 characters: tools, system, parameters, the number of turns, and 12
 * bits for each turn, or for each group of 2, 4, … of many: of its lengths for all of them, and of every character for the
 * latest. A turn's characters are in the hashes of the request in which it was new.
 */
const MAX_GROUPS = 64;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Of the parts before the turns, four bytes each. */
const HEAD_BYTES = 12;
/** Two times 12 bits. */
const TURN_BYTES = 3;
/** Characters at the end of a prompt that are always summed. */
const LEAST_SUMMED = 65_536;

// --- sums ---

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
type Sum = { filled: number; value: number; size: number };

const flush = (sum: Sum): void => {
  for (let at = sum.filled; at % 4 > 0; at += 1) words[at] = 0;
  if (sum.filled > 0) sum.value = mixed(sum.filled, sum.value);
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

/** Who edits a text of the history mostly changes its length; for the others, each turn's characters are known once. */
const addShape: Add = (sum, text) => {
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

const sumOfTurn = ({ role, blocks }: Turn, add: Add, seed: number): Sum => {
  const sum = { filled: 0, value: role === 'user' ? seed : ~seed, size: 0 };
  for (const block of blocks) addBlock(sum, block, add);
  flush(sum);
  return sum;
};

const sumOfText = (text: string): number => {
  const sum = { filled: 0, value: 0, size: 0 };
  addText(sum, text);
  flush(sum);
  return sum.value;
};

// --- hashes ---

const digitsOf = (value: number): string => `${DIGITS[(value >> 6) & 63]}${DIGITS[value & 63]}`;
const numberOf = (digits: string): number =>
  (DIGITS.indexOf(digits.charAt(0)) << 6) | DIGITS.indexOf(digits.charAt(1));

const strideOf = (count: number): number => {
  let stride = 1;
  while (count / stride > MAX_GROUPS) stride *= 2;
  return stride;
};

/** Adds a turn's sum to its group; the digits of a group are 12 bits. */
const put = (groups: number[], group: number, { value }: Sum, mask: number): void => {
  groups[group] = (groups[group] ?? 0) ^ value ^ (value >>> 12) ^ (value >>> 24) ^ mask;
};

const hashHistory = (history: Turn[], mask: Buffer, fresh: number): string => {
  const stride = strideOf(history.length);
  const shapes: number[] = new Array(Math.ceil(history.length / stride)).fill(0);
  const texts = [...shapes];
  let left = Math.max(fresh, LEAST_SUMMED);
  let from = history.length;
  for (const [index, turn] of [...history.entries()].reverse()) {
    const bits = mask.readUIntBE(HEAD_BYTES + TURN_BYTES * index, TURN_BYTES);
    const group = Math.floor(index / stride);
    put(shapes, group, sumOfTurn(turn, addShape, index), bits);
    if (left <= 0) continue;
    const sum = sumOfTurn(turn, addText, index);
    put(texts, group, sum, bits >>> 12);
    left -= sum.size;
    from = index;
  }
  const whole = texts.slice(Math.ceil(from / stride));
  return `${shapes.map(digitsOf).join('')}.${whole.map(digitsOf).join('')}`;
};

/**
 * `tools` is the text of the tools as they were sent, which is five times as fast as to write them again; `fresh` is about how many
 * characters at the end of the prompt its provider has not read from a cache: those before them are as they were.
 */
export const hashParts = (
  { turns, toolChoice, reasoning, responseFormat }: GenerationRequest,
  { tools, fresh, secret }: { tools: string; fresh: number; secret: string },
): string => {
  const first = turns.findIndex(({ role }) => role !== 'system');
  const start = first === -1 ? turns.length : first;
  const history = turns.slice(start);
  const mask = maskOf(secret, HEAD_BYTES + TURN_BYTES * history.length);
  const heads = [
    sumOfText(tools),
    turns.slice(0, start).reduce((sum, turn) => sumOfTurn(turn, addText, sum).value, 0),
    sumOfText(JSON.stringify([toolChoice, reasoning, responseFormat])),
  ].map((sum, index) => ((sum ^ mask.readUInt32BE(4 * index)) >>> 0).toString(36));
  return [...heads, history.length, hashHistory(history, mask, fresh)].join('.');
};

// --- comparison ---

/** Of each group; undefined where the characters of its turns are in the hashes of an earlier request. */
type Groups = (number | undefined)[];

const read = (parts: string) => {
  const [tools, system, parameters, count, ...groups] = parts.split('.');
  const [shapes = [], texts = []] = groups.map((digits) =>
    (digits.match(/../g) ?? []).map(numberOf),
  );
  const unknown: Groups = new Array(shapes.length - texts.length).fill(undefined);
  return { tools, system, parameters, count: Number(count), shapes, texts: [...unknown, ...texts] };
};
type Read = ReturnType<typeof read>;

/** Groups of `factor` as many turns. */
const merged = (groups: Groups, factor: number): Groups =>
  Array.from({ length: Math.ceil(groups.length / factor) }, (_, at) =>
    groups
      .slice(at * factor, (at + 1) * factor)
      .reduce(
        (sum, group) => (sum === undefined || group === undefined ? undefined : sum ^ group),
        0,
      ),
  );

/** The turns before `end`, from 1, of which at least one differs. */
const changedTurns = (
  [one, other]: [Read, Read],
  kind: 'shapes' | 'texts',
  end: number,
): [from: number, to: number] | undefined => {
  const stride = strideOf(Math.max(one.count, other.count));
  const [ones = [], others = []] = [one, other].map((parts) =>
    merged(parts[kind], stride / strideOf(parts.count)),
  );
  const isChanged = (group: number | undefined, at: number) =>
    group !== undefined && others[at] !== undefined && group !== others[at];
  const at = ones.slice(0, Math.floor(end / stride)).findIndex(isChanged);
  return at === -1 ? undefined : [at * stride + 1, (at + 1) * stride];
};

/** Of the turns whose characters are not in the hashes of a later request, those of each earlier one: the first that differ. */
const changedTexts = (earlier: Read[], later: Read): [from: number, to: number] | undefined => {
  let end = later.count;
  let changed: [number, number] | undefined;
  for (const one of earlier) {
    changed = changedTurns([one, later], 'texts', Math.min(end, one.count)) ?? changed;
    const known = one.texts.findIndex((group) => group !== undefined);
    if (known !== -1) end = Math.min(end, known * strideOf(one.count));
  }
  return changed;
};

/**
 * The first part of a prompt that differs from that of the turn before; undefined if none does. `earlier` are the hashes of the
 * session's requests before it, the latest first.
 */
export const changedPart = (earlier: string[], later: string): string | undefined => {
  const other = read(later);
  const ones = earlier.map(read);
  const [one] = ones;
  if (!one) return undefined;
  for (const part of ['tools', 'system', 'parameters'] as const) {
    if (one[part] !== other[part]) return part;
  }
  const changes = [
    changedTurns([one, other], 'shapes', Math.min(one.count, other.count)) ?? [],
    changedTexts(ones, other) ?? [],
    other.count < one.count ? [other.count + 1, other.count + 1] : [],
  ];
  const [from, to] = changes.reduce((first, change) =>
    (change[0] ?? Infinity) < (first[0] ?? Infinity) ? change : first,
  );
  return from === undefined ? undefined : from === to ? `turn ${from}` : `turns ${from} to ${to}`;
};
