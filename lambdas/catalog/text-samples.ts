import { read, startReading, type Weights } from './text-reader.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Where texts are read, as if they were one: from the middle of each period, `size` characters. */
type Sampling = { from: number; to: number; period: number; size: number };

const slicesOf = (texts: string[], { from, to, period, size }: Sampling): string[] => {
  const slices: string[] = [];
  let next = from + Math.floor((period - size) / 2);
  let start = 0;
  for (const text of texts) {
    const end = Math.min(start + text.length, to);
    while (next < end) {
      slices.push(text.slice(Math.max(0, next - start), Math.min(next + size, end) - start));
      // The rest of a slice that reaches the end of its text is in the text after it.
      if (next + size > end) break;
      next += period;
    }
    start += text.length;
    if (start >= to) break;
  }
  return slices;
};

const lengthOf = (texts: string[]): number => texts.reduce((sum, { length }) => sum + length, 0);

/** Counting takes up to 100 ms for so many characters, of any kind. */
const MAX_COUNTED = 65_536;
/** A token at each end of a slice is cut: these are long enough that it does not count. */
const COUNTED_SLICE = 4_096;

/** The tokens of texts, of long ones by samples. */
export const countTexts = (texts: string[], { count }: Tokenizer): number => {
  const total = lengthOf(texts);
  const countAll = (each: string[]) => each.reduce((sum, text) => sum + count(text), 0);
  if (total <= MAX_COUNTED) return countAll(texts);
  const period = Math.floor(total / (MAX_COUNTED / COUNTED_SLICE));
  const slices = slicesOf(texts, { from: 0, to: total, period, size: COUNTED_SLICE });
  return (countAll(slices) * total) / lengthOf(slices);
};

/**
 * The more text, the less of it is read, so that an estimate costs no more than the parsing of its body. What is read
 * depends on nothing that follows it: a prompt that grows never counts less.
 */
const SAMPLINGS: Sampling[] = [
  { from: 0, to: 2_048, period: 2_048, size: 2_048 },
  { from: 2_048, to: 131_072, period: 256, size: 64 },
  { from: 131_072, to: Number.POSITIVE_INFINITY, period: 2_048, size: 64 },
];

/** Estimates the tokens of texts, of all but the first characters by samples. */
export const estimateTexts = (texts: string[], weights: Weights): number => {
  const total = lengthOf(texts);
  let tokens = 0;
  for (const sampling of SAMPLINGS) {
    if (sampling.from >= total) break;
    const times = sampling.period / sampling.size;
    const reading = startReading(weights);
    for (const slice of slicesOf(texts, sampling)) {
      // A word that a sample cuts is continued by the next one.
      if (times === 1) reading.row = reading.start;
      read(reading, slice);
    }
    tokens += reading.tokens * times;
  }
  return tokens / 1_000;
};
