import { calcPrice } from '@pydantic/genai-prices';
import type { Target } from '../lambdas/catalog/catalog.ts';

/** What a public table of prices has of a target's model: at its provider, or else at any. */
export const rowOf = ({ model, baseUrl }: Pick<Target, 'model' | 'baseUrl'>) =>
  calcPrice({ input_tokens: 1 }, model, { providerApiUrl: baseUrl }) ??
  calcPrice({ input_tokens: 1 }, model);

/** A price of the table, which may have steps: the first of them. */
export const priceIn = (price: unknown): number | undefined => {
  if (typeof price === 'number') return price;
  const base = (price as { base?: unknown } | undefined)?.base;
  return typeof base === 'number' ? base : undefined;
};
