import { addKinds, publicKinds } from '../money/cost.ts';
import {
  type DayRange,
  type HistoryProgress,
  type HistoryStore,
  UNRECORDED,
  type UsageRow,
  type UsageSums,
} from '../stores/history-store.ts';
import { formatInstant } from '../support/clock.ts';
import { dollarsOf, publicUsage } from '../support/public-usage.ts';
import { addSums, NO_USAGE } from './sums.ts';

export const GROUPINGS = ['day', 'model', 'key', 'project'] as const;
export type Grouping = (typeof GROUPINGS)[number];

const modelOf = ({ model }: UsageRow): string => {
  if (model.startsWith(UNRECORDED)) return UNRECORDED;
  return model === '' ? '(none)' : model;
};

const nameIn = (row: UsageRow, by: Grouping): string =>
  ({ day: row.day, model: modelOf(row), key: row.keyId, project: row.projectId })[by];

type Sums = UsageSums & Pick<UsageRow, 'kinds'>;

/** Sums as callers and operators read them: with what is estimated or incomplete of a cost. */
export const publicSums = (sums: Sums) => ({
  charged: sums.charged,
  refunded: sums.refunded,
  refused: sums.refused,
  ...publicUsage(sums),
  cost_estimated_usd: dollarsOf(sums.costEstimatedNanos ?? 0),
  incomplete_requests: sums.incompleteRequests ?? 0,
  cost_by_kind: publicKinds(sums.kinds ?? {}),
});

/** One row without grouping. */
export const publicRow = (row: UsageRow) => ({
  day: row.day,
  project: row.projectId,
  key: row.keyId,
  model: modelOf(row),
  ...publicSums(row),
});

/** Sums of rows by one of their names, and of all. */
export const createUsageGroups = (by: Grouping) => {
  const groups = new Map<string, Sums>();
  const total: Sums = { ...NO_USAGE, kinds: {} };
  const addRow = (sums: Sums, row: UsageRow): void => {
    addSums(sums, row);
    sums.kinds ??= {};
    addKinds(sums.kinds, row.kinds);
  };
  return {
    add: (row: UsageRow): void => {
      const name = nameIn(row, by);
      const sums = groups.get(name) ?? { ...NO_USAGE, kinds: {} };
      groups.set(name, sums);
      addRow(sums, row);
      addRow(total, row);
    },
    rows: () =>
      [...groups]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, sums]) => {
          const named: Partial<Record<Grouping, string>> = { [by]: name };
          return { ...named, ...publicSums(sums) };
        }),
    total: () => publicSums(total),
    sums: (): UsageSums => total,
  };
};

/** How old figures are that were folded at an instant (ms), or at several: of which the oldest counts. */
export const ageOf = (folded: (HistoryProgress | undefined)[], now: number) => {
  const instants = folded.flatMap((progress) => (progress ? [progress.foldedAt] : []));
  if (instants.length === 0) return { as_of: null, age_seconds: null };
  const oldest = Math.min(...instants);
  const age = Math.max(0, Math.round((now - oldest) / 1_000));
  return { as_of: formatInstant(oldest), age_seconds: age };
};

/** Rows of a range, of some keys if they are given. */
export async function* rowsIn(
  history: Pick<HistoryStore, 'readRows'>,
  range: DayRange,
  keyIds?: readonly string[],
): AsyncGenerator<UsageRow, void, void> {
  const wanted = keyIds && new Set(keyIds);
  for await (const rows of history.readRows(range)) {
    for (const row of rows) if (!wanted || wanted.has(row.keyId)) yield row;
  }
}
