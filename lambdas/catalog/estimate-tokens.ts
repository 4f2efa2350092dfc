import type { Target } from './catalog.ts';
import { FAMILIES, type Family, type Framing } from './families.ts';
import type { Size } from './image-size.ts';
import { imageRuleOf } from './image-tokens.ts';
import { type RequestParts, TOKENS_PER_MEDIUM } from './request-parts.ts';

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
  weights: readonly number[];
  /** The provider's name of the model, by which its images count. */
  model: string;
};

export const countingOf = ({ model, counting }: Pick<Target, 'model' | 'counting'>): Counting => {
  const named = FAMILY_OF.find(([name]) => name.test(model))?.[1];
  const family = counting?.family ?? named ?? 'other';
  const { weights, framing } = FAMILIES[family];
  return { weights, framing: counting?.framing ?? framing, model };
};

const dot = (weights: readonly number[], features: Float64Array): number =>
  weights.reduce((sum, weight, index) => sum + weight * (features[index] ?? 0), 0) / 1_000;

/** An image by URL, or of a format that the router does not read, counts as one of ordinary size. */
const tokensOfImages = (images: (Size | undefined)[], model: string): number => {
  if (images.length === 0) return 0;
  const rule = imageRuleOf(model);
  return images.reduce((sum, size) => sum + (rule && size ? rule(size) : TOKENS_PER_MEDIUM), 0);
};

/** Tokens that the vendor writes around the texts. */
const tokensOfFraming = (framing: Framing, parts: RequestParts): number =>
  framing.prompt +
  framing.message * parts.messages +
  framing.call * parts.calls +
  framing.argument * parts.arguments +
  framing.tool * parts.tools +
  framing.member * parts.members +
  (parts.tools > 0 ? framing.withTools : 0);

/** Estimates a request's input tokens as its vendor counts them, by rules (decision 5). */
export const estimateInputTokens = (
  parts: RequestParts,
  { framing, weights, model }: Counting,
): number => {
  const texts =
    framing.descriptions * dot(weights, parts.descriptions) +
    framing.schema * dot(weights, parts.schema) +
    framing.text * dot(weights, parts.text);
  const tokens =
    tokensOfFraming(framing, parts) +
    texts +
    tokensOfImages(parts.images, model) +
    parts.mediaTokens;
  return Math.max(1, Math.ceil(tokens));
};
