import type { Target } from './catalog.ts';
import { FAMILIES, type Family, FRAMING_MEMBERS, type Framing } from './families.ts';
import { type Image, tokensOfImage } from './image-tokens.ts';
import { type RequestParts, TOKENS_PER_MEDIUM } from './request-parts.ts';
import type { Weights } from './text-reader.ts';
import { countTexts, estimateTexts } from './text-samples.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The tokenizer of a model by the provider's name of it; the first that matches. */
const FAMILY_OF: [name: RegExp, family: Family][] = [
  [/claude-(?:[a-z]+-)?(?:4[.-][7-9]\b|[5-9]|\d\d)/i, 'claude-4.7'],
  [/claude/i, 'claude'],
  [/(?:^|[/.])(?:gpt|chatgpt|o\d|codex)/i, 'o200k'],
  [/glm/i, 'glm'],
  [/minimax/i, 'minimax'],
  [/qwen|qwq/i, 'qwen'],
  [/deepseek/i, 'deepseek'],
];

/** How a target counts: as its catalog entry states, else by its model's name. */
export type Counting = {
  framing: Framing;
  weights: Weights;
  /** The provider's name of the model, by which its images count. */
  model: string;
};

export const countingOf = ({ model, counting }: Pick<Target, 'model' | 'counting'>): Counting => {
  const named = FAMILY_OF.find(([name]) => name.test(model))?.[1];
  const family = counting?.family ?? named ?? 'other';
  const { weights, framing } = FAMILIES[family];
  return { weights, framing: counting?.framing ?? framing, model };
};

/** An image of unknown size counts as one of ordinary size: by URL, or of a format that the router does not read. */
const tokensOfImages = (images: Image[], model: string): number =>
  images.reduce((sum, image) => sum + (tokensOfImage(model, image) ?? TOKENS_PER_MEDIUM), 0);

/** What each member of a framing is multiplied by: numbers of things, and tokens of three kinds of text. */
const countParts = (parts: RequestParts, tokensOf: (texts: string[]) => number): number[] => [
  1,
  parts.messages,
  parts.calls,
  parts.arguments,
  parts.tools > 0 ? 1 : 0,
  parts.tools,
  parts.members,
  tokensOf(parts.descriptions),
  tokensOf(parts.schema),
  tokensOf(parts.text),
];

export const countPrompt = (parts: RequestParts, { weights }: Counting): number[] =>
  countParts(parts, (texts) => estimateTexts(texts, weights));

/** Tokens of a prompt without its media, as a vendor of this framing counts them. */
export const framedTokens = (framing: Framing, counts: readonly number[]): number =>
  FRAMING_MEMBERS.reduce((sum, member, index) => sum + framing[member] * (counts[index] ?? 0), 0);

const withMedia = (tokens: number, { images, mediaTokens }: RequestParts, model: string): number =>
  Math.max(1, Math.ceil(tokens + tokensOfImages(images, model) + mediaTokens));

/** Estimates a request's input tokens as its vendor counts them, by rules (decision 5). */
export const estimateInputTokens = (
  parts: RequestParts,
  counting: Counting,
  counts = countPrompt(parts, counting),
): number => withMedia(framedTokens(counting.framing, counts), parts, counting.model);

/** The same with the vendor's vocabulary for its texts. */
export const countInputTokens = (
  parts: RequestParts,
  target: Pick<Target, 'model' | 'counting'>,
  tokenizer: Tokenizer,
): number => {
  const { framing, model } = countingOf(target);
  // A family's factor for text corrects its weights.
  const exact = target.counting?.framing ?? { ...framing, text: 1 };
  const counts = countParts(parts, (texts) => countTexts(texts, tokenizer));
  return withMedia(framedTokens(exact, counts), parts, model);
};
