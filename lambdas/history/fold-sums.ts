import { addKinds } from '../money/cost.ts';
import {
  type DaySums,
  type HistoryStore,
  UNRECORDED,
  type UsageRow,
} from '../stores/history-store.ts';
import { listOf } from '../support/async-lists.ts';
import { addSums, type KindSums, NO_USAGE, SUM_NAMES } from './sums.ts';

/** Of more keys, an item has those that end in the same two characters: an item may have 400 KB. */
const MOST_BY_ONE = 30_000;

type Named = Map<string, KindSums>;

const addTo = (named: Named, name: string, row: UsageRow): void => {
  const sums = named.get(name) ?? { ...NO_USAGE, kinds: {} };
  named.set(name, sums);
  addSums(sums, row);
  addKinds(sums.kinds, row.kinds);
};

const listed = (named: Iterable<[string, KindSums]>): DaySums['sums'] =>
  [...named]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, sums]) => [name, SUM_NAMES.map((sum) => sums[sum]), sums.kinds]);

type Part = Pick<DaySums, 'of' | 'end' | 'sums'>;

/** The model items last: they say by how many characters the keys are apart, which a reader follows. */
const partsOf = (rows: Iterable<UsageRow>): Part[] => {
  const models: Named = new Map();
  const keys: Named = new Map();
  for (const row of rows) {
    // The history has corrections in their own place too.
    if (row.model.startsWith(UNRECORDED)) continue;
    addTo(models, row.model, row);
    addTo(keys, row.keyId, row);
  }
  const letters = keys.size > MOST_BY_ONE ? 2 : 1;
  const ends = Map.groupBy(keys, ([keyId]) => keyId.slice(-letters));
  return [
    ...[...ends].map(([end, own]): Part => ({ of: 'key', end, sums: listed(own) })),
    { of: 'model', end: String(letters), sums: listed(models) },
  ];
};

const placeOf = ({ of, end }: Part): string => (of === 'model' ? of : `${of}|${end}`);

/**
 * Reads the sums of a day before its rows are read. Those that another run writes from then on are a conflict, so that no
 * row that it wrote is lost.
 */
export const openSums = async (
  history: Pick<HistoryStore, 'readSums' | 'putSums'>,
  { projectId, day }: { projectId: string; day: string },
) => {
  const range = { projectId, from: day, to: day };
  const pages = await Promise.all(
    (['model', 'key'] as const).map((of) => listOf(history.readSums(range, of))),
  );
  const stored = new Map(pages.flat(2).map((sums) => [placeOf(sums), sums]));
  return {
    /** Writes the sums of all rows of the day where they differ; false if another run has written some since. */
    write: async (rows: Iterable<UsageRow>): Promise<boolean> => {
      for (const part of partsOf(rows)) {
        const { version = 0, ...before } = stored.get(placeOf(part)) ?? {};
        const next = { projectId, day, ...part };
        if (JSON.stringify(before) === JSON.stringify(next)) continue;
        if (!(await history.putSums({ ...next, version: version + 1 }))) return false;
      }
      return true;
    },
  };
};
