import type { KindCosts } from '../money/cost.ts';
import type { UsageSums } from '../stores/history-store.ts';

export type KindSums = UsageSums & { kinds: KindCosts };

export const NO_USAGE: UsageSums = {
  charged: 0,
  refunded: 0,
  refused: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costNanos: 0,
  costEstimatedNanos: 0,
  incompleteRequests: 0,
};

export const SUM_NAMES = Object.keys(NO_USAGE) as (keyof UsageSums)[];

/** Adds `more` to `sums`, in place. */
export const addSums = (sums: UsageSums, more: Partial<UsageSums>): void => {
  // Rows of an older version lack what was added since.
  for (const name of SUM_NAMES) sums[name] = (sums[name] ?? 0) + (more[name] ?? 0);
};

/** What is left of `sums` without `part`. */
export const without = (sums: UsageSums, part: UsageSums): UsageSums => {
  const rest = { ...NO_USAGE };
  for (const name of SUM_NAMES) rest[name] = sums[name] - part[name];
  return rest;
};
