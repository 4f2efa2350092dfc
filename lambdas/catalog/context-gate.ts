import type { GenerationRequest } from '../protocols/generation.ts';
import { contextOverflow } from '../support/errors.ts';
import type { Model } from './catalog.ts';
import { boundInputTokens, maxInputTokens } from './estimate-tokens.ts';

/**
 * Share of the estimate that may be too much. Of documents in 16 languages the smallest that a band of 15 % rejects
 * wrongly fills 91 % of its context; without a band it fills 79 %.
 */
const BAND = 0.15;

/**
 * Rejects a prompt that certainly exceeds the model's context, before any spend. A doubtful one goes to the
 * provider, whose refusal becomes the same 400 and costs no unit: a wrong 400 here would lose a valid request.
 * The cheap bounds come first, so that most requests are not estimated.
 * @throws ApiError 400
 */
export const assertFits = (
  { context_length }: Pick<Model, 'context_length'>,
  request: GenerationRequest,
  { bodyBytes, estimateInput }: { bodyBytes: number; estimateInput: () => number },
): void => {
  if (boundInputTokens(request, bodyBytes) <= context_length) return;
  const tokens = estimateInput();
  if (tokens * (1 - BAND) <= context_length) return;
  if (maxInputTokens(request) <= context_length) return;
  throw contextOverflow({ tokens, most: context_length });
};
