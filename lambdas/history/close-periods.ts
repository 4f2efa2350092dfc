import { type ClosedPeriod, type HistoryStore, UNRECORDED } from '../stores/history-store.ts';
import type { KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { MeterStore } from '../stores/meter-store.ts';
import { listOf } from '../support/async-lists.ts';
import { DAY_MS, dayOf } from '../support/clock.ts';
import type { Share } from './share.ts';
import { NO_USAGE } from './sums.ts';

type Parts = {
  history: HistoryStore;
  keys: Pick<KeyStore, 'listKeys'>;
  meters: Pick<MeterStore, 'reap' | 'endedPeriods' | 'forgetPeriods'>;
};

/** A closed period and the records of its units. */
export type Reconciled = ClosedPeriod & {
  /** Units that records show. */
  recorded: number;
  /** Units by which the two differed when they were last compared, as the history has it. */
  corrected: number;
};

/** One after another, the meters of 2,500 keys took the 29 s of a request. */
const METERS_AT_ONCE = 25;

/** The first key of each meter, in the order of their ids. */
const meterKeys = (keys: KeyRecord[]): KeyRecord[] =>
  [...new Map(keys.toReversed().map((key) => [key.meterId, key])).values()].toSorted((a, b) =>
    a.keyId < b.keyId ? -1 : 1,
  );

/**
 * Moves the counts of ended periods from the meters of a project into the history, of those after a key and until it is
 * over. They are written before they are removed, so that a crash between the two repeats the same write.
 * @returns the key after which to continue; undefined after the last one
 * @throws the first failure, after all meters
 */
export const closePeriods = async (
  { history, keys, meters }: Parts,
  parts: Pick<Share, 'after' | 'isOver'> & { projectId: string; now: number },
): Promise<string | undefined> => {
  const { projectId, now, after, isOver } = parts;
  const closeOne = async ({ meterId, keyId }: KeyRecord): Promise<void> => {
    await meters.reap(meterId, now);
    const ended = await meters.endedPeriods(meterId, now);
    for (const { period, used } of ended) {
      await history.putPeriod({ projectId, meterId, keyId, period, used });
    }
    if (ended.length === 0) return;
    await meters.forgetPeriods(
      meterId,
      ended.map(({ period }) => period),
    );
  };
  const all = meterKeys(await keys.listKeys(projectId)).filter(({ keyId }) => keyId > after);
  const failures: unknown[] = [];
  let done = 0;
  while (done < all.length && (done === 0 || !isOver())) {
    const group = all.slice(done, done + METERS_AT_ONCE);
    for (const result of await Promise.allSettled(group.map(closeOne))) {
      if (result.status === 'rejected') failures.push(result.reason);
    }
    done += group.length;
  }
  if (failures.length > 0) throw failures[0];
  return done < all.length ? all[done - 1]?.keyId : undefined;
};

export const lastDayOf = (period: string): string => {
  if (period.length !== 7) return period.slice(0, 10);
  const [year = 0, month = 0] = period.split('-').map(Number);
  return dayOf(Date.UTC(year, month) - DAY_MS);
};

/** The model of the row that corrects a period: an hour's row must not replace another's. */
const correctionModel = (period: string): string => `${UNRECORDED} ${period}`;

/** Compares the closed periods of a project's month with its rows. */
export const compareMonth = async (
  { history }: Pick<Parts, 'history'>,
  projectId: string,
  month: string,
): Promise<Reconciled[]> => {
  const periods = await history.readPeriods(projectId, month);
  if (periods.length === 0) return [];
  const range = { projectId, from: `${month}-01`, to: lastDayOf(month) };
  const rows = (await listOf(history.readRows(range))).flat();
  const rowsOf = Map.groupBy(rows, ({ meterId }) => meterId);
  return periods.map((closed) => {
    const own = rowsOf.get(closed.meterId) ?? [];
    const recorded = own
      .filter((row) => !row.model.startsWith(UNRECORDED))
      .reduce((sum, row) => sum + (row.periods[closed.period] ?? 0), 0);
    const correction = own.find(({ model }) => model === correctionModel(closed.period));
    return { ...closed, recorded, corrected: correction?.charged ?? 0 };
  });
};

/**
 * What the meter charged and no record shows (a process died between its two last writes, or the records table failed)
 * becomes a separate row, so that the sum of the rows is the meter's count to the unit.
 */
export const correct = async (
  { history }: Pick<Parts, 'history'>,
  { projectId, meterId, keyId, period, used, recorded, corrected }: Reconciled,
): Promise<void> => {
  const charged = used - recorded;
  if (charged === corrected) return;
  const row = { projectId, day: lastDayOf(period), keyId, meterId, model: correctionModel(period) };
  await history.putCorrection({ ...row, ...NO_USAGE, charged, periods: {} }, recorded);
};
