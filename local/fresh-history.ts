import type { HistoryJob } from '../lambdas/history/history-job.ts';
import type { RecordStore, RequestRecord } from '../lambdas/stores/record-store.ts';
import { type Clock, HOUR_MS, withTimeout } from '../lambdas/support/clock.ts';
import { requestTimeOf } from '../lambdas/support/ids.ts';
import type { UnsettledDays } from './unsettled-days.ts';

/** Records of other processes on the same tables are looked for after this time. */
const FRESH_MS = 2_000;
/** A read waits at most so long for a fold, which may be a long one. */
const WAIT_MS = 100;
/** A fold of at most so many records of this process is a short one, also on a busy machine. */
const FEW_RECORDS = 50;
const SHORT_FOLD_MS = 2_000;
/** Without a read, records are folded so long after the first of them. */
const DELAY_MS = 5_000;
/** A record is sent at most so long after its request ended, or began in another process. */
const WRITE_MS = 5_000;

/** Requests and writes of records in flight in this process. */
export const createInFlight = (clock: Clock) => {
  const starts = new Set<{ at: number }>();
  let onIdle = () => {};
  return {
    track: async <Result>(work: () => Promise<Result>, at = clock.now()): Promise<Result> => {
      const start = { at };
      starts.add(start);
      try {
        return await work();
      } finally {
        starts.delete(start);
        if (starts.size === 0) onIdle();
      }
    },
    /** Resolves once nothing is in flight: a response in the background outlives its connection. */
    whenIdle: (): Promise<void> =>
      new Promise((resolve) => {
        onIdle = resolve;
        if (starts.size === 0) resolve();
      }),
    /** The records of all requests that began before it are written. */
    settledUntil: (): number =>
      Math.min(clock.now() - WRITE_MS, ...[...starts].map(({ at }) => at)),
  };
};
export type InFlight = ReturnType<typeof createInFlight>;

/**
 * When the records of all earlier requests are written, also of those that were in flight when a process before this one
 * died: within the hour a repeat may take one over, and record it under its id. `isFirst`: there was no process before.
 */
export const createExportedUntil = (
  clock: Clock,
  { settledUntil }: Pick<InFlight, 'settledUntil'>,
  isFirst: () => boolean,
) => {
  const startedAt = clock.now();
  return (): number => {
    const now = clock.now();
    const isSettled = isFirst() || now - startedAt >= HOUR_MS;
    return isSettled ? settledUntil() : Math.min(settledUntil(), now - HOUR_MS);
  };
};

/** Whether a request has the id of an earlier one, whose process was killed (replay/run-once.ts). */
const isTakenOver = ({ id, startedAt }: RequestRecord): boolean =>
  (requestTimeOf(id) ?? startedAt) < startedAt - WRITE_MS;

/** Records whose writes are in flight until they end, and are then reported. */
export const watchRecords = <Store extends Pick<RecordStore, 'putRecord' | 'putRefusals'>>(
  store: Store,
  { inFlight, unsettled }: { inFlight: InFlight; unsettled: UnsettledDays },
  onWrite: () => void,
): Store => ({
  ...store,
  putRecord: (record, revision) => {
    const put = () => store.putRecord(record, revision);
    const write = isTakenOver(record) ? () => unsettled.write(record, put) : put;
    return inFlight.track(write, record.startedAt).finally(onWrite);
  },
  putRefusals: (batch) => inFlight.track(() => store.putRefusals(batch)).finally(onWrite),
});

/**
 * Keeps the history of a local server up to date, in place of the schedule on AWS: one fold at a time, of the records
 * since the last one.
 */
export const createFreshHistory = (clock: Clock, unsettled: UnsettledDays) => {
  let history: HistoryJob | undefined;
  /** Of a run, and of its first part, after which new records are in the figures. */
  let running: Promise<void> | undefined;
  let folding: Promise<void> | undefined;
  let cancel: (() => void) | undefined;
  let changes = 0;
  let foldedAt = Number.NEGATIVE_INFINITY;
  let closedHour: number | undefined;

  /** Closes what has ended with the hour: periods and days. */
  const close = async (job: HistoryJob): Promise<void> => {
    const hour = Math.floor(foldedAt / HOUR_MS);
    if (closedHour === hour) return;
    await job.run();
    closedHour = hour;
  };

  const start = (job: HistoryJob): void => {
    changes = 0;
    foldedAt = clock.now();
    const end = unsettled.beginFold();
    const fold = job.fold().then(end);
    // A read then shows the older figures with their age, and the next one tries again.
    folding = fold.catch(() => undefined);
    running = fold.then(() => close(job)).catch(() => undefined);
    void running.then(() => {
      running = undefined;
    });
  };

  const isDue = (): boolean => changes > 0 || clock.now() - foldedAt >= FRESH_MS;

  const catchUp = async (): Promise<void> => {
    await (isDue() ? running : folding);
    if (history && !running && isDue()) start(history);
    await folding;
  };

  return {
    start: (job: HistoryJob): void => {
      history = job;
    },
    /** Notes that a record was written. */
    change: (): void => {
      changes += 1;
      cancel ??= clock.after(DELAY_MS, () => {
        cancel = undefined;
        void catchUp();
      });
    },
    /** Folds new records, unless that lasts too long: then it continues without the caller. */
    refresh: async (): Promise<void> => {
      const isShort = changes > 0 && changes <= FEW_RECORDS;
      await withTimeout(clock, isShort ? SHORT_FOLD_MS : WAIT_MS, catchUp());
    },
    close: async (): Promise<void> => {
      history = undefined;
      cancel?.();
      await running;
    },
  };
};
