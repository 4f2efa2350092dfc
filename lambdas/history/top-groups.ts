import type { UsageSums } from '../stores/history-store.ts';
import { addGroup, type NamedGroup, OTHER } from './read-usage.ts';
import { NO_USAGE } from './sums.ts';

/** What groups are sorted by, from the highest. */
const SORTS = {
  charged: ({ charged }) => charged,
  refunded: ({ refunded }) => refunded,
  refused: ({ refused }) => refused,
  tokens: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
  input_tokens: ({ inputTokens }) => inputTokens,
  output_tokens: ({ outputTokens }) => outputTokens,
  cache_read_tokens: ({ cacheReadTokens }) => cacheReadTokens,
  cost_usd: ({ costNanos }) => costNanos,
} satisfies Record<string, (sums: UsageSums) => number>;
export const SORT_NAMES = Object.keys(SORTS) as (keyof typeof SORTS)[];

/** The highest groups, and one that has the sums of all others, so that together they have those of all. */
export const topGroups = (
  groups: NamedGroup[],
  limit: number,
  sort: keyof typeof SORTS = 'cost_usd',
): NamedGroup[] => {
  const of: (sums: UsageSums) => number = SORTS[sort];
  const isOther = ({ name }: NamedGroup) => name === OTHER;
  const sorted = groups
    .filter((group) => !isOther(group))
    .toSorted((one, two) => of(two.sums) - of(one.sums) || (one.name < two.name ? -1 : 1));
  const others = [...sorted.slice(limit), ...groups.filter(isOther)];
  const other: NamedGroup = { name: OTHER, sums: { ...NO_USAGE, kinds: {} } };
  for (const { sums } of others) addGroup(other.sums, sums);
  return [...sorted.slice(0, limit), ...(others.length > 0 ? [other] : [])];
};
