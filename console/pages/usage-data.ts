import type { Api } from '../api/client.ts';
import type { Usage, UsageSums } from '../api/types.ts';
import type { Bar } from '../parts/bars.tsx';
import type { FilterValues } from '../parts/filters.ts';
import { count, DAY_MS, dollars, shortCount } from '../parts/format.ts';
export type Group = FilterValues<'usage'>['group'];
export type Measure = FilterValues<'usage'>['measure'];

/** What the bars show: a number of the sums, and what the API calls it. */
export const MEASURES = {
  requests: { of: ({ charged }: UsageSums) => charged, format: count, sort: 'charged' },
  tokens: {
    of: (sums: UsageSums) => sums.input_tokens + sums.output_tokens,
    format: shortCount,
    sort: 'tokens',
  },
  cost: { of: ({ cost_usd }: UsageSums) => cost_usd, format: dollars, sort: 'cost_usd' },
} as const satisfies Record<Measure, unknown>;

/** Columns of which the API lists the rows with the highest values. */
const SORTS: Record<string, string> = {
  Charged: 'charged',
  Refunded: 'refunded',
  'Input tokens': 'input_tokens',
  'Output tokens': 'output_tokens',
  'From a cache': 'cache_read_tokens',
  Cost: 'cost_usd',
};

/** What the rows are the highest of: the column of the address, otherwise the measure. */
export const sortOf = (column: string | null, measure: Measure): string =>
  SORTS[column?.replace(/^-/, '') ?? ''] ?? MEASURES[measure].sort;

/** Rows that are loaded: the server adds up all others. */
export const MOST_ROWS = 100;

/** The row of all that are not listed. */
export const OTHER = '(other)';
export const isCut = ({ by, data }: Pick<Usage, 'by' | 'data'>): boolean =>
  data.length > MOST_ROWS && data.some((row) => row[by] === OTHER);

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const daysFrom = (firstMs: number, days: number): string[] =>
  Array.from({ length: days }, (_, index) => dayOf(firstMs + index * DAY_MS));

/** The UTC days of a range that ends today. */
export const lastDays = (days: number): string[] =>
  daysFrom(Date.now() - (days - 1) * DAY_MS, days);

/** The UTC days of a range; of this month until today. */
export const daysIn = (range: FilterValues<'usage'>['range']): string[] => {
  if (range !== 'month' && range !== 'last') return lastDays(Number(range));
  const now = new Date();
  if (range === 'month') return lastDays(now.getUTCDate());
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return daysFrom(Date.UTC(year, month - 1), new Date(Date.UTC(year, month, 0)).getUTCDate());
};

/** As many days before some days, which are without a gap. */
export const daysBefore = (days: readonly string[]): string[] =>
  daysFrom(Date.parse(days[0] ?? '') - days.length * DAY_MS, days.length);

export type UsageQuery = {
  project: string | undefined;
  key?: string | undefined;
  days: readonly string[];
  /** Of the rows with the highest values of `sort`, at most. @default all rows */
  limit?: number;
  sort?: string;
};

/** Sums of some days by one of their names; every group of the same days has the same total. */
export const loadUsage = (api: Api, by: Group, { days, ...query }: UsageQuery): Promise<Usage> =>
  api(
    'usage',
    {},
    {
      ...{ by, ...query },
      since: `${days[0]}T00:00:00Z`,
      until: `${days.at(-1)}T23:59:59.999Z`,
    },
  );

/** `2 s old`: what is newer is not counted yet. */
export const ageOf = ({ age_seconds: age }: Pick<Usage, 'age_seconds'>): string => {
  if (age === null) return 'not counted yet';
  return age < 120 ? `${age} s old` : `${Math.round(age / 60)} min old`;
};

/** One bar for each day, also for days without a request. */
export const barsOf = (
  { data }: Pick<Usage, 'data'>,
  days: readonly string[],
  measure: Measure,
): Bar[] => {
  const byDay = new Map(data.map((row) => [row.day, row]));
  return days.map((day) => {
    const row = byDay.get(day);
    return { day, value: row ? MEASURES[measure].of(row) : 0 };
  });
};
