import type { Api } from '../api/client.ts';
import type { Usage, UsageSums } from '../api/types.ts';
import type { Bar } from '../parts/bars.tsx';
import { count, dollars, shortCount } from '../parts/format.ts';

const DAY_MS = 86_400_000;

export const RANGES = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
] as const;
export type RangeName = (typeof RANGES)[number]['value'];

export const GROUPS = [
  { value: 'day', label: 'By day' },
  { value: 'model', label: 'By model' },
  { value: 'key', label: 'By key' },
  { value: 'project', label: 'By project' },
] as const;
export type Group = (typeof GROUPS)[number]['value'];

/** What the bars show: one number of the sums. */
export const MEASURES = {
  requests: { label: 'Requests', of: ({ charged }: UsageSums) => charged, format: count },
  tokens: {
    label: 'Tokens',
    of: (sums: UsageSums) => sums.input_tokens + sums.output_tokens,
    format: shortCount,
  },
  cost: { label: 'Cost', of: ({ cost_usd }: UsageSums) => cost_usd, format: dollars },
} as const;
export type Measure = keyof typeof MEASURES;

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The UTC days of a range that ends today. */
const daysOf = (days: number): string[] =>
  Array.from({ length: days }, (_, index) => dayOf(Date.now() - (days - 1 - index) * DAY_MS));

export type UsageQuery = { project: string | undefined; key?: string | undefined; days: number };

/** Sums of a range by one of their names; every group of one range has the same total. */
export const loadUsage = (
  api: Api,
  by: Group,
  { project, key, days }: UsageQuery,
): Promise<Usage> =>
  api.get<Usage>('usage', { by, project, key, since: `${daysOf(days)[0]}T00:00:00Z` });

/** One bar for each day of the range, also for days without a request. */
export const barsOf = ({ data }: Usage, days: number, measure: Measure): Bar[] => {
  const byDay = new Map(data.map((row) => [row.day, row]));
  return daysOf(days).map((day) => {
    const row = byDay.get(day);
    return { day, value: row ? MEASURES[measure].of(row) : 0 };
  });
};
