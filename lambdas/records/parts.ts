import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Block, GenerationRequest, MediaSource, Turn } from '../protocols/generation.ts';

/**
 * Hashes of a prompt's parts, by which two requests of a session are compared. A checksum is masked with bits that are
 * derived from the caller's key, which is stored nowhere, and from its session: the hashes tell nothing about a text, and those of
 * two sessions cannot be compared. One text of at most 160 characters: tools, system, parameters, the number of turns, and 12
 * bits for each turn, or for each group of 2, 4, … of many.
 */
const MAX_GROUPS = 64;
const BITS = 0xfff;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Of the parts before the turns, four bytes each. */
const HEAD_BYTES = 12;

const isSet = (name: string, value: unknown): unknown =>
  name === 'cache_control' || name === 'prompt_cache_breakpoint' ? undefined : value;

const sumOf = (value: unknown, sum: number): number =>
  value === undefined ? sum : crc32(JSON.stringify(value, isSet), sum);

const SHORT = 64;
const SAMPLES = 8;

/** Of a longer text of the history its length and some characters: who edits one replaces it, or changes its length. */
const sumOfText = (text: string, sum: number): number => {
  if (text.length <= SHORT) return crc32(text, sum);
  let mixed = sum ^ text.length;
  for (let at = 0; at < SAMPLES; at += 1) {
    const code = text.charCodeAt(Math.floor((at * text.length) / SAMPLES));
    mixed = Math.imul(mixed ^ code, 0x5bd1e995) ^ (mixed >>> 13);
  }
  return mixed >>> 0;
};

const scratch = Buffer.allocUnsafe(65_536);

/** Of every character, as one byte each: as UTF-8, a text with a dash takes 100 times as long. */
const sumOfWhole = (text: string, sum: number): number => {
  let whole = sum;
  for (let at = 0; at < text.length; at += scratch.length) {
    const written = scratch.write(text.slice(at, at + scratch.length), 'latin1');
    whole = crc32(scratch.subarray(0, written), whole);
  }
  return whole;
};

const sumOfSource = (source: MediaSource | { kind: 'text'; text: string }, sum: number): number => {
  if (source.kind === 'base64') return sumOfText(source.data, sum);
  return sumOfText(source.kind === 'url' ? source.url : source.text, sum);
};

const sumOfBlock = (sum: number, block: Block): number => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return sumOfText(block.text, sum);
    case 'tool-call':
      return sumOfText(block.arguments, crc32(block.id, sum));
    case 'tool-result':
      return block.content.reduce(sumOfBlock, crc32(block.callId, sum));
    case 'image':
    case 'document':
      return sumOfSource(block.source, sum);
    case 'native':
      return sumOf(block.value, sum);
  }
};

/** A time in the middle of a system prompt is what loses most hits. */
const sumOfSystem = (turns: Turn[]): number =>
  turns
    .flatMap(({ blocks }) => blocks)
    .reduce(
      (sum, block) =>
        block.type === 'text' ? sumOfWhole(block.text, sum) : sumOfBlock(sum, block),
      0,
    );

const digitsOf = (value: number): string => `${DIGITS[(value >> 6) & 63]}${DIGITS[value & 63]}`;
const numberOf = (digits: string): number =>
  (DIGITS.indexOf(digits.charAt(0)) << 6) | DIGITS.indexOf(digits.charAt(1));

const strideOf = (count: number): number => {
  let stride = 1;
  while (count / stride > MAX_GROUPS) stride *= 2;
  return stride;
};

/** `tools` is the text of the tools as they were sent, which is five times as fast as to write them again. */
export const hashParts = (
  { turns, toolChoice, reasoning, responseFormat }: GenerationRequest,
  tools: string,
  secret: string,
): string => {
  const first = turns.findIndex(({ role }) => role !== 'system');
  const start = first === -1 ? turns.length : first;
  const history = turns.slice(start);
  const mask = createHash('shake256', { outputLength: HEAD_BYTES + 2 * history.length })
    .update(secret)
    .digest();
  const heads = [
    sumOfWhole(tools, 0),
    sumOfSystem(turns.slice(0, start)),
    sumOf([toolChoice, reasoning, responseFormat], 0),
  ].map((sum, index) => ((sum ^ mask.readUInt32BE(4 * index)) >>> 0).toString(36));
  const stride = strideOf(history.length);
  const groups: number[] = [];
  for (const [index, { role, blocks }] of history.entries()) {
    const sum = blocks.reduce(sumOfBlock, role === 'user' ? index : -index >>> 0);
    const group = Math.floor(index / stride);
    const masked = sum ^ (sum >>> 12) ^ mask.readUInt16BE(HEAD_BYTES + 2 * index);
    groups[group] = (groups[group] ?? 0) ^ (masked & BITS);
  }
  return [...heads, history.length, groups.map(digitsOf).join('')].join('.');
};

const read = (parts: string) => {
  const [tools, system, parameters, count, groups = ''] = parts.split('.');
  return { tools, system, parameters, count: Number(count), groups: groups.match(/../g) ?? [] };
};

/** Groups of `stride` turns each, made of smaller ones. */
const merged = (groups: string[], factor: number): number[] =>
  groups.reduce<number[]>((sums, digits, index) => {
    const at = Math.floor(index / factor);
    return sums.with(
      at === sums.length ? sums.push(0) - 1 : at,
      (sums[at] ?? 0) ^ numberOf(digits),
    );
  }, []);

/** The turns, from 1, of which at least one differs; undefined if the history begins with the earlier one. */
const changedTurns = (
  earlier: ReturnType<typeof read>,
  later: ReturnType<typeof read>,
): [from: number, to: number] | undefined => {
  const stride = strideOf(Math.max(earlier.count, later.count));
  const shared = Math.min(earlier.count, later.count);
  const [one, other] = [earlier, later].map(({ groups, count }) =>
    merged(groups, stride / strideOf(count)),
  );
  for (let group = 0; (group + 1) * stride <= shared; group += 1) {
    if (one?.[group] !== other?.[group]) return [group * stride + 1, (group + 1) * stride];
  }
  return later.count < earlier.count ? [later.count + 1, later.count + 1] : undefined;
};

/** The first part of a prompt that differs from that of an earlier request of the session; undefined if none does. */
export const changedPart = (earlier: string, later: string): string | undefined => {
  const [one, other] = [read(earlier), read(later)];
  for (const part of ['tools', 'system', 'parameters'] as const) {
    if (one[part] !== other[part]) return part;
  }
  const [from, to] = changedTurns(one, other) ?? [];
  return from === undefined ? undefined : from === to ? `turn ${from}` : `turns ${from} to ${to}`;
};
