import type { Model } from '../catalog/catalog.ts';

type Prices = Pick<Model, 'input_price_per_m' | 'output_price_per_m' | 'cached_input_price_per_m'>;

export type Tokens = {
  /** Includes what was read from and written to a cache. */
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  cacheReadTokens?: number | undefined;
};

/** A dollar a million tokens is a thousand billionths a token. */
const NANOS_PER_TOKEN = 1_000;

/**
 * Cost at the catalog's prices in billionths of a US dollar: an integer, so that sums are exact. Without a
 * price for cached input, tokens read from a cache cost as much as others.
 */
export const costNanosOf = (
  { input_price_per_m: input, output_price_per_m: output, ...prices }: Prices,
  { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0 }: Tokens,
): number => {
  const cached = prices.cached_input_price_per_m ?? input;
  const read = Math.min(cacheReadTokens, inputTokens);
  const dollarsPerMillion = (inputTokens - read) * input + read * cached + outputTokens * output;
  return Math.round(dollarsPerMillion * NANOS_PER_TOKEN);
};
