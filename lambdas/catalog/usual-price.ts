import { versionOn } from '../money/cost.ts';
import { pricesOf } from './catalog.ts';
import type { Model, Target } from './parse-models.ts';

/** A price is that of so many tokens of input to one of output. */
const INPUT_PARTS = 3;

/** Dollars of a million tokens at the target on a UTC day; Infinity if its provider bills at a price that is not known. */
export const usualPriceOf = (model: Model, target: Target, day: string): number => {
  const prices = pricesOf(model, target);
  const { input, output } = versionOn(prices, day);
  if (typeof input !== 'number' || typeof output !== 'number') return Number.POSITIVE_INFINITY;
  return ((prices.factor ?? 1) * (INPUT_PARTS * input + output)) / (INPUT_PARTS + 1);
};
