import { tokensOfImage } from '#late/media';
import type { Target } from './catalog.ts';
import {
  CLAUDE_4_7,
  FAMILIES,
  type Family,
  type FramingNumbers,
  LEAST,
  numbersOf,
  type Weights,
} from './families.ts';
import type { Image } from './image-tokens.ts';
import { type RequestParts, TOKENS_PER_MEDIUM } from './request-parts.ts';
import { read, startReading } from './text-reader.ts';

/** The tokenizer of a model by the provider's name of it; the first that matches. */
const FAMILY_OF: [name: RegExp, family: Family][] = [
  [CLAUDE_4_7, 'claude-4.7'],
  [/claude/i, 'claude'],
  [/gpt-?oss/i, 'gpt-oss'],
  [/gpt-?(?:4(?![\w.])(?!-[1o]\b)|3\.?5)/i, 'cl100k'],
  [/(?:^|[^a-z])(?:gpt|chatgpt|o\d|codex)/i, 'o200k'],
  // Before those whose models are distilled to it.
  [/llama/i, 'llama'],
  [/kimi|moonshot/i, 'kimi'],
  [/glm/i, 'glm'],
  [/minimax/i, 'minimax'],
  [/qwen|qwq/i, 'qwen'],
  [/deepseek/i, 'deepseek'],
];

/** Those whose template writes arguments of calls and results of tools as JSON strings. */
const QUOTING: ReadonlySet<Family> = new Set(['llama']);

/** How a target counts: as its catalog entry states, else by its model's name. */
export type Counting = {
  framing: FramingNumbers;
  /** The framing by what the target's provider has counted. */
  calibrated?: FramingNumbers | undefined;
  weights: Weights;
  /** It writes arguments of calls and results of tools as JSON strings. */
  isQuoting?: boolean;
  /** The provider's name of the model, by which its images count. */
  model: string;
};

export const countingOf = ({ model, counting }: Pick<Target, 'model' | 'counting'>): Counting => {
  const named = FAMILY_OF.find(([name]) => name.test(model))?.[1];
  const family = counting?.family ?? named ?? 'other';
  const { weights, framing } = FAMILIES[family];
  const own = counting?.framing;
  const isQuoting = QUOTING.has(family);
  return {
    weights,
    framing: own ? numbersOf(own) : framing,
    isQuoting,
    model,
  };
};

// --- texts ---

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

/**
 * Half of the characters after these are read, so that an estimate costs no more than the parsing of its body. What is read
 * depends on nothing that follows it: a prompt that grows counts no less.
 */
const WHOLE = 1_024;
const NEAR: Sampling = { from: 0, to: 131_072, period: 131_072, size: 131_072 };
/** Of those after `NEAR`. */
const FAR: Sampling = { from: NEAR.to, to: Number.POSITIVE_INFINITY, period: 1_024, size: 64 };

/** Estimates the tokens of texts, of long ones by samples. */
export const estimateTexts = (texts: string[], weights: Weights, whole = WHOLE): number => {
  const total = texts.reduce((sum, { length }) => sum + length, 0);
  if (total === 0) return 0;
  const reading = startReading(weights, whole);
  read(reading, total <= NEAR.to ? texts : slicesOf(texts, NEAR), true);
  if (total > NEAR.to) {
    const near = reading.tokens;
    reading.whole = 2 ** 30;
    read(reading, slicesOf(texts, FAR), false);
    reading.tokens = near + ((reading.tokens - near) * FAR.period) / FAR.size;
  }
  return reading.tokens / 1_000;
};

// --- prompts ---

/** An image of unknown size counts as one of ordinary size: by URL, or of a format that the router does not read. */
const tokensOfImages = (images: Image[], model: string): number =>
  images.reduce((sum, image) => sum + (tokensOfImage(model, image) ?? TOKENS_PER_MEDIUM), 0);

const quotedTexts = ({ text, quoted }: RequestParts): string[] => {
  const texts = [...text];
  for (const index of quoted) texts[index] = JSON.stringify(text[index]);
  return texts;
};

/** What each number of a framing is multiplied by: numbers of things, and tokens of three kinds of text. */
export const countPrompt = (
  parts: RequestParts,
  { weights, isQuoting = false }: Omit<Counting, 'framing' | 'model'>,
  whole?: number,
): number[] => {
  const tokensOf = (texts: string[]) => estimateTexts(texts, weights, whole);
  return [
    1,
    parts.messages,
    parts.calls,
    parts.arguments,
    parts.tools > 0 ? 1 : 0,
    parts.tools,
    parts.members,
    tokensOf(parts.descriptions),
    tokensOf(parts.schema),
    tokensOf(isQuoting ? quotedTexts(parts) : parts.text) +
      tokensOf(parts.droppable) +
      tokensOf(parts.laterSystem),
  ];
};

/** Tokens of a prompt without its media, as a vendor of this framing counts them. */
export const framedTokens = (framing: FramingNumbers, counts: readonly number[]): number => {
  let sum = 0;
  for (let index = 0; index < framing.length; index += 1) {
    sum += (framing[index] ?? 0) * (counts[index] ?? 0);
  }
  return sum;
};

const withMedia = (tokens: number, { images, mediaTokens }: RequestParts, model: string): number =>
  Math.max(1, Math.ceil(tokens + tokensOfImages(images, model) + mediaTokens));

/** A calibration changes an estimate by this factor at most. */
const MAX_CORRECTION = 2;

/**
 * Estimates a request's input tokens as its vendor counts them, by rules (decision 5), and corrected by what the vendor
 * has counted.
 */
export const estimateInputTokens = (
  parts: RequestParts,
  counting: Counting,
  counts = countPrompt(parts, counting),
): number => {
  const { framing, calibrated } = counting;
  const tokens = framedTokens(framing, counts);
  const own = calibrated ? framedTokens(calibrated, counts) : tokens;
  const bounded = Math.min(tokens * MAX_CORRECTION, Math.max(tokens / MAX_CORRECTION, own));
  return withMedia(bounded, parts, counting.model);
};

/** Tokens that every tokenizer makes of a prompt at least, so that none is rejected that fits (decision 5). */
export const leastInputTokens = (parts: RequestParts, model: string): number =>
  framedTokens(
    LEAST.framing,
    countPrompt({ ...parts, droppable: [], laterSystem: [] }, LEAST, NEAR.to),
  ) + parts.images.reduce((sum, image) => sum + (tokensOfImage(model, image) ?? 0), 0);
