import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { hashWho, type ReadWhoKey } from './hash-who.ts';
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
  readWhoKey,
}: {
  store: Pick<RecordStore, 'putRecord'>;
  refusals: Pick<Refusals, 'flush'>;
  clock: Clock;
  log: Log;
  /** @default none: for whom a request was is kept as it was sent */
  readWhoKey?: ReadWhoKey | undefined;
}): Recorder => {
  const put = async (entry: RequestRecord, revision: number) => {
    const { who, projectId } = entry;
    const isHashed = who !== undefined && readWhoKey !== undefined;
    const kept = isHashed ? { ...entry, who: await hashWho(who, projectId, readWhoKey) } : entry;
    await store.putRecord(kept, revision);
  };

  const write = async (entry: RequestRecord, revision: number) => {
    const writing = put(entry, revision).then(
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
