import type { Target } from '../catalog/catalog.ts';
import {
  countingOf,
  countPrompt,
  estimateInputTokens,
  leastInputTokens,
} from '../catalog/estimate-tokens.ts';
import { partsOf, type RequestParts } from '../catalog/request-parts.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import type { Calibrations } from '../routing/calibrations.ts';

/** What is counted of a request: it is read for a target when its count is first needed. */
export type Prompt = {
  readonly request: GenerationRequest;
  readonly targets: Target[];
  readonly calibrations: Pick<Calibrations, 'framingOf'>;
  parts: RequestParts | undefined;
  counts: Map<Target, number[]> | undefined;
};

export const createPrompt = (
  request: GenerationRequest,
  targets: Target[],
  calibrations: Prompt['calibrations'],
): Prompt => ({ request, targets, calibrations, parts: undefined, counts: undefined });

export const partsIn = (prompt: Prompt): RequestParts => {
  prompt.parts ??= partsOf(prompt.request);
  return prompt.parts;
};

const countsIn = (prompt: Prompt, target: Target): number[] => {
  prompt.counts ??= new Map();
  const counts = prompt.counts.get(target) ?? countPrompt(partsIn(prompt), countingOf(target));
  prompt.counts.set(target, counts);
  return counts;
};

/** Estimates the input as the target counts it, by default the first one. */
export const estimateOn = (prompt: Prompt, target = prompt.targets[0]): number => {
  if (!target) return 0;
  const counting = { ...countingOf(target), calibrated: prompt.calibrations.framingOf(target) };
  return estimateInputTokens(partsIn(prompt), counting, countsIn(prompt, target));
};

/** What the target's framing counts; undefined if the prompt has media, which no framing counts. */
export const countsOn = (prompt: Prompt, target: Target): number[] | undefined => {
  const { images, mediaTokens } = partsIn(prompt);
  return images.length > 0 || mediaTokens > 0 ? undefined : countsIn(prompt, target);
};

/**
 * The tokens it has at least at the target that counts least. Pages of documents are none: one is 258 tokens at one vendor and
 * 2,300 at another, so the provider decides on those.
 */
export const leastOn = (prompt: Prompt): number =>
  Math.min(...prompt.targets.map(({ model }) => leastInputTokens(partsIn(prompt), model)));
