import { addKinds } from '../money/cost.ts';
import type { FoldedRow, HistoryStore, RowPart, UsageRow } from '../stores/history-store.ts';
import type { RecordEntry, RecordStore, Refusal, RequestRecord } from '../stores/record-store.ts';
import { requestTimeOf, timeIn } from '../support/ids.ts';
import { boundOf, type DayRange, isAnew } from './day-range.ts';
import { openMetrics } from './fold-metrics.ts';
import { openSums } from './fold-sums.ts';
import { openSpent } from './fold-who.ts';
import { DayTooLong, type Share } from './share.ts';
import { addSums, NO_USAGE } from './sums.ts';

export const emptyPart = (): RowPart => ({ ...NO_USAGE, periods: {}, kinds: {}, entries: 0 });

export const addPart = (part: RowPart, more: RowPart): void => {
  addSums(part, more);
  part.kinds ??= {};
  addKinds(part.kinds, more.kinds);
  part.entries += more.entries;
  for (const [period, units] of Object.entries(more.periods)) {
    part.periods[period] = (part.periods[period] ?? 0) + units;
  }
};

export const partOf = (record: RequestRecord): RowPart => {
  const { isCharged, period, inputTokens = 0, outputTokens = 0, cacheReadTokens = 0 } = record;
  const { cacheWriteTokens = 0, reasoningTokens = 0, costNanos = 0 } = record;
  const { costSource, costIncomplete, costKinds = {} } = record;
  return {
    charged: isCharged ? 1 : 0,
    refunded: isCharged ? 0 : 1,
    refused: 0,
    ...{ inputTokens, outputTokens, cacheReadTokens },
    ...{ cacheWriteTokens, reasoningTokens, costNanos },
    costEstimatedNanos: costSource === 'estimated' ? costNanos : 0,
    incompleteRequests: costIncomplete ? 1 : 0,
    kinds: costKinds,
    periods: isCharged ? { [period]: 1 } : {},
    entries: 1,
  };
};

type RowName = Pick<Refusal, 'keyId' | 'meterId' | 'model'>;

const partsIn = (entry: RecordEntry): [RowName, RowPart][] => {
  if ('record' in entry) return [[entry.record, partOf(entry.record)]];
  return entry.batch.refusals.map((refusal) => [
    refusal,
    { ...emptyPart(), refused: refusal.count, entries: 1 },
  ]);
};

/** When an entry began; a batch of an older version, whose id has no time, before all others. */
const timeOf = (entry: RecordEntry): number =>
  ('record' in entry ? requestTimeOf(entry.record.id) : timeIn(entry.batch.id)) ??
  Number.NEGATIVE_INFINITY;

type Parts = {
  records: Pick<RecordStore, 'hasEntries' | 'readDay'>;
  history: HistoryStore;
};

/** `isWhole`: without `from`. */
export type DayToFold = DayRange & {
  /** Entries that began at this instant (ms) or later are read. @default all of the day */
  from?: number | undefined;
  isLate: Share['isLate'];
};

/** A row as it grows. */
type Growing = {
  stored: FoldedRow | undefined;
  row: UsageRow;
  /** What began before `until` is in `settled` already, and what begins before `bound` is from now on. */
  until: number;
  bound: number;
  settled: RowPart;
  open: RowPart;
};

const nameOf = ({ keyId, model }: RowName): string => `${keyId}|${model}`;

const readStored = async ({ history }: Parts, { projectId, day }: DayToFold) => {
  const stored = new Map<string, FoldedRow>();
  for await (const page of history.readFolded(projectId, day)) {
    for (const folded of page) stored.set(nameOf(folded.row), folded);
  }
  return stored;
};

const growingOf = (
  { keyId, meterId, model }: RowName,
  stored: FoldedRow | undefined,
  range: DayToFold,
): Growing => {
  const { projectId, day } = range;
  const before = isAnew(range) ? undefined : stored?.settled;
  const { until, ...settled } = before ?? { ...emptyPart(), until: Number.NEGATIVE_INFINITY };
  const row = { projectId, day, keyId, meterId, model, ...NO_USAGE, periods: {} };
  const bound = boundOf(range, stored?.settled?.until);
  return { stored, row, until, bound, settled, open: emptyPart() };
};

/** The rows that the entries of a day add to, page by page: only their sums are kept. */
const readRows = async (parts: Parts, wanted: DayToFold) => {
  const { projectId, day, from, settledUntil } = wanted;
  if (!(await parts.records.hasEntries(projectId, day, from))) return undefined;
  // Before the entries: a row that another run writes from then on is a conflict, and so never loses entries.
  const sums = await openSums(parts.history, wanted);
  const stored = await readStored(parts, wanted);
  const spent = await openSpent(parts.history, wanted);
  const metrics = await openMetrics(parts.history, wanted);
  const rows = new Map<string, Growing>();
  const add = (name: RowName, part: RowPart, time: number): void => {
    const key = nameOf(name);
    const { version = 0, settled } = stored.get(key) ?? {};
    // A closed row is computed from all entries, or not at all.
    if (settledUntil !== undefined && version > 0 && settled === undefined) return;
    const growing = rows.get(key) ?? growingOf(name, stored.get(key), wanted);
    rows.set(key, growing);
    // A run that ended between its writes, or a faster one, has settled this row further than the day.
    if (time < growing.until) return;
    addPart(time < growing.bound ? growing.settled : growing.open, part);
  };
  for await (const entries of parts.records.readDay(projectId, day, from)) {
    if (wanted.isLate()) throw new DayTooLong(day);
    for (const entry of entries) {
      const time = timeOf(entry);
      for (const [name, part] of partsIn(entry)) {
        add(name, part, time);
        metrics.add(entry, { model: name.model, usage: part }, time);
        if ('record' in entry) spent.add(entry.record, part, time);
      }
    }
  }
  return { stored, rows: [...rows.values()], sums, spent, metrics };
};

/** The next version of a row; undefined if it would be equal. */
const nextOf = (growing: Growing, settledUntil: number | undefined): FoldedRow | undefined => {
  const { stored, settled, open } = growing;
  const all = emptyPart();
  addPart(all, settled);
  addPart(all, open);
  const { entries, ...total } = all;
  const row = { ...growing.row, ...total };
  const isOpen = settledUntil !== undefined;
  const isSame = stored?.settled?.entries === (isOpen ? settled.entries : undefined);
  if (stored && isSame && JSON.stringify(stored.row) === JSON.stringify(row)) return undefined;
  return {
    row,
    entries,
    settled: isOpen ? { ...settled, until: growing.bound } : undefined,
    version: (stored?.version ?? 0) + 1,
  };
};

/** False if another run has written some of it since it was read. */
const writeDay = async (
  { history }: Parts,
  { stored, rows, sums, spent, metrics }: NonNullable<Awaited<ReturnType<typeof readRows>>>,
  { settledUntil }: DayToFold,
): Promise<boolean> => {
  const all = new Map([...stored].map(([name, { row }]) => [name, row]));
  let isWritten = true;
  for (const growing of rows) {
    const next = nextOf(growing, settledUntil);
    if (!next) continue;
    isWritten = (await history.putFolded(next)) && isWritten;
    all.set(nameOf(next.row), next.row);
  }
  isWritten &&= await sums.write(all.values());
  // After the rows, which are at least as new for a reader that reads these first.
  isWritten = (await spent.write()) && isWritten;
  return (await metrics.write()) && isWritten;
};

/** Two runs at once repeat what the other has changed. */
const MAX_ATTEMPTS = 5;

/**
 * Adds to the rows of a project's UTC day what was written since the last run. A row holds the sums of its
 * settled entries, and until when they are: so a run reads only later ones, computes the rest of the row
 * again, and writes it unless another run did in between. A run that ends halfway leaves each row complete
 * or as it was.
 * @throws Error if other runs keep changing the day; DayTooLong
 */
export const foldDay = async (parts: Parts, wanted: DayToFold): Promise<void> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const read = await readRows(parts, wanted);
    if (!read || (await writeDay(parts, read, wanted))) return;
  }
  throw new Error('Other runs of the history keep changing the same rows.');
};
