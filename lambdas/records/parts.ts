import type { GenerationRequest, Turn } from '../protocols/generation.ts';
import { type Key, keyOf, sumLengths, sumOfText, sumOfTurns } from './part-sums.ts';

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
