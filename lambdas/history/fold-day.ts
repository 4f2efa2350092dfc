import type { HistoryStore, UsageRow, UsageSums } from '../stores/history-store.ts';
import type { RecordEntry, RecordStore, Refusal, RequestRecord } from '../stores/record-store.ts';

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
};

/** Adds `more` to `sums`, in place. */
export const addSums = (sums: UsageSums, more: Partial<UsageSums>): void => {
  for (const name of Object.keys(NO_USAGE) as (keyof UsageSums)[]) sums[name] += more[name] ?? 0;
};

type Folded = { row: UsageRow; entries: number };

/** The rows of one project's day, as they grow. */
const createRows = (projectId: string, day: string) => {
  const rows = new Map<string, Folded>();

  const rowOf = ({
    keyId,
    meterId,
    model,
  }: Pick<Refusal, 'keyId' | 'meterId' | 'model'>): Folded => {
    const name = `${keyId}|${model}`;
    const known = rows.get(name);
    if (known) return known;
    const row = { projectId, day, keyId, meterId, model, ...NO_USAGE, periods: {} };
    const folded = { row, entries: 0 };
    rows.set(name, folded);
    return folded;
  };

  const addRecord = (record: RequestRecord): void => {
    const folded = rowOf(record);
    const { isCharged, period } = record;
    const units = isCharged ? { charged: 1 } : { refunded: 1 };
    addSums(folded.row, { ...units, ...sumsIn(record) });
    folded.entries += 1;
    if (isCharged) folded.row.periods[period] = (folded.row.periods[period] ?? 0) + 1;
  };

  const addRefusal = (refusal: Refusal): void => {
    const folded = rowOf(refusal);
    folded.row.refused += refusal.count;
    folded.entries += 1;
  };

  return {
    add: (entry: RecordEntry): void => {
      if ('record' in entry) addRecord(entry.record);
      else for (const refusal of entry.batch.refusals) addRefusal(refusal);
    },
    all: (): Folded[] => [...rows.values()],
  };
};

const sumsIn = ({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
  reasoningTokens = 0,
  costNanos = 0,
}: RequestRecord): Partial<UsageSums> => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  reasoningTokens,
  costNanos,
});

/**
 * Computes the rows of a project's UTC day from all its records, each time: a repeat, a crash and a late
 * record need no care. A row is stored with the number of entries it was computed from, which only grows.
 */
export const foldDay = async (
  {
    records,
    history,
  }: { records: Pick<RecordStore, 'readDay'>; history: Pick<HistoryStore, 'putRow'> },
  projectId: string,
  day: string,
): Promise<void> => {
  const rows = createRows(projectId, day);
  for await (const entries of records.readDay(projectId, day)) entries.forEach(rows.add);
  for (const { row, entries } of rows.all()) await history.putRow(row, entries);
};
