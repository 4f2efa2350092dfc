import { addKinds, publicKinds } from '../money/cost.ts';
import {
  type DayRange,
  type DaySums,
  type Dimension,
  type HistoryProgress,
  type HistoryStore,
  UNRECORDED,
  type UsageRow,
  type UsageSums,
} from '../stores/history-store.ts';
import { DAY_MS, dayOf, formatInstant } from '../support/clock.ts';
import { dollarsOf, publicUsage } from '../support/public-usage.ts';
import { addSums, NO_USAGE, SUM_NAMES } from './sums.ts';

export const GROUPINGS = ['day', 'model', 'key', 'project'] as const;
export type Grouping = (typeof GROUPINGS)[number];

const modelOf = ({ model }: Pick<UsageRow, 'model'>): string => {
  if (model.startsWith(UNRECORDED)) return UNRECORDED;
  return model === '' ? '(none)' : model;
};

/** Of a row, or of rows of a day by model or key, whose other name is empty. */
export type NamedSums = UsageSums &
  Pick<UsageRow, 'projectId' | 'day' | 'keyId' | 'model' | 'kinds'>;

const nameIn = (row: NamedSums, by: Grouping): string =>
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

/** Groups of lower sums than those that are listed. */
export const OTHER = '(other)';

/** Sums of a name; those of a key with its project. */
export type NamedGroup = { name: string; project?: string; sums: Sums };

export const addGroup = (sums: Sums, more: Sums): void => {
  addSums(sums, more);
  sums.kinds ??= {};
  addKinds(sums.kinds, more.kinds ?? {});
};

export const publicGroups = (by: string, groups: NamedGroup[]) =>
  groups.map(({ name, project, sums }) => {
    const named: Partial<Record<Grouping | Exclude<Dimension, 'tag'>, string>> = { [by]: name };
    return { ...(project !== undefined && { project }), ...named, ...publicSums(sums) };
  });

/** Sums of rows by one of their names, and of all. */
export const createUsageGroups = (by: Grouping) => {
  const groups = new Map<string, NamedGroup>();
  const total: Sums = { ...NO_USAGE, kinds: {} };
  return {
    add: (row: NamedSums): void => {
      const name = nameIn(row, by);
      let group = groups.get(name);
      if (!group) {
        const ofKey = by === 'key' && { project: row.projectId };
        group = { name, ...ofKey, sums: { ...NO_USAGE, kinds: {} } };
        groups.set(name, group);
      }
      addGroup(group.sums, row);
      addGroup(total, row);
    },
    groups: () => [...groups.values()].toSorted((one, two) => (one.name < two.name ? -1 : 1)),
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

/** Rows of a range, one by one. */
export async function* rowsIn(
  history: Pick<HistoryStore, 'readRows'>,
  range: DayRange,
): AsyncGenerator<UsageRow, void, void> {
  for await (const rows of history.readRows(range)) yield* rows;
}

const namedIn = ({ projectId, day, of, sums }: DaySums): NamedSums[] =>
  sums.map(([name, numbers, kinds]) => ({
    ...{ projectId, day, keyId: '', model: '', [of === 'key' ? 'keyId' : 'model']: name },
    ...(Object.fromEntries(SUM_NAMES.map((sum, at) => [sum, numbers[at] ?? 0])) as UsageSums),
    kinds,
  }));

export type ReadsSums = Pick<
  HistoryStore,
  'readRows' | 'readSums' | 'readCorrections' | 'readProgress'
>;

/** Days whose sums are those of the rows, page by page. */
async function* summedIn(history: ReadsSums, range: DayRange, of: DaySums['of']) {
  const letters = new Map<string, number>();
  for await (const page of history.readSums(range, 'model')) {
    for (const { day, end } of page) letters.set(day, Number(end));
    if (of === 'model') yield page.flatMap(namedIn);
  }
  if (of === 'model') return;
  for await (const page of history.readSums(range, 'key')) {
    // A day whose keys have become many has those that were apart by fewer letters too.
    yield page.filter(({ day, end }) => end.length === letters.get(day)).flatMap(namedIn);
  }
}

/** Sums of a range by day and by model or key, in pages: without their rows, where the history has them. */
export async function* sumsIn(history: ReadsSums, range: DayRange, of: DaySums['of']) {
  const { from, to } = range;
  const { summedFrom = `${to}~` } = (await history.readProgress(range.projectId)) ?? {};
  if (from < summedFrom) {
    const last = summedFrom > to ? to : dayOf(Date.parse(summedFrom) - DAY_MS);
    yield* history.readRows({ ...range, to: last });
  }
  if (summedFrom > to) return;
  const summed = { ...range, from: summedFrom > from ? summedFrom : from };
  yield* summedIn(history, summed, of);
  yield* history.readCorrections(summed);
}
