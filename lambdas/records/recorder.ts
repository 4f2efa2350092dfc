import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { WRITE_TIMEOUT_MS } from './refusal-counts.ts';
import type { Refusals } from './refusals.ts';

/** Keeps what happened to requests. Never throws: a failed write is logged and counted. */
export type Recorder = {
  /** Writes the record of a request that took a unit, also in a later `revision` of it. */
  record(record: RequestRecord, revision: number): Promise<void>;
};

export const createRecorder = ({
  store,
  refusals,
  clock,
  log,
}: {
  store: Pick<RecordStore, 'putRecord'>;
  refusals: Pick<Refusals, 'flush'>;
  clock: Clock;
  log: Log;
}): Recorder => {
  const write = async (entry: RequestRecord, revision: number) => {
    const writing = store.putRecord(entry, revision).then(
      () => true,
      () => false,
    );
    const written = await withTimeout(clock, WRITE_TIMEOUT_MS, writing);
    if (!written?.value) log.error('record_write_failed', { requestId: entry.id });
  };

  return {
    record: async (entry, revision) => {
      await Promise.all([write(entry, revision), refusals.flush(WRITE_TIMEOUT_MS)]);
    },
  };
};
