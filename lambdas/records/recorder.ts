import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { createRefusalCounts, type RefusedRequest } from './refusal-counts.ts';

/** Keeps what happened to requests. Never throws: a failed write is logged and counted. */
export type Recorder = {
  /** Writes the record of a request that took a unit, also in a later `revision` of it. */
  record(record: RequestRecord, revision: number): Promise<void>;
  /** Counts a request that took no unit. */
  refuse(refused: RefusedRequest): Promise<void>;
};

/** A write takes a few milliseconds. Later, the response has ended and the platform waits for nothing else. */
const WRITE_TIMEOUT_MS = 1_000;
/** The refused caller waits for it. */
const REFUSAL_TIMEOUT_MS = 300;

export const createRecorder = ({
  store,
  clock,
  randomBytes,
  log,
}: {
  store: Pick<RecordStore, 'putRecord' | 'putRefusals'>;
  clock: Clock;
  randomBytes: RandomBytes;
  log: Log;
}): Recorder => {
  const refusals = createRefusalCounts({ store, clock, randomBytes });

  const write = async (record: RequestRecord, revision: number): Promise<boolean> => {
    try {
      await store.putRecord(record, revision);
      return true;
    } catch {
      return false;
    }
  };

  const record: Recorder['record'] = async (entry, revision) => {
    const written = await withTimeout(clock, WRITE_TIMEOUT_MS, write(entry, revision));
    if (!written?.value) log.error('record_write_failed', { requestId: entry.id });
  };

  return {
    record: async (entry, revision) => {
      await Promise.all([
        record(entry, revision),
        withTimeout(clock, WRITE_TIMEOUT_MS, refusals.flush()),
      ]);
    },
    refuse: async (refused) => {
      await withTimeout(clock, REFUSAL_TIMEOUT_MS, refusals.add(refused));
    },
  };
};
