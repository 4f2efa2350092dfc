import type { RecordStore, RequestRecord } from '../stores/record-store.ts';
import { type Clock, tryFor } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { hashWho, type ReadWhoKey } from './hash-who.ts';
import { type Refusals, WRITE_TIMEOUT_MS } from './refusals.ts';
import type { Seal } from './seal.ts';

/** Keeps what happened to requests. Never throws: a failed write is logged and counted. */
export type Recorder = {
  /** Writes the record of a request that took a unit, with the hashes of its parts, also in a later `revision` of it. */
  record(record: RequestRecord, revision: number, parts?: Uint16Array): Promise<void>;
};

export const createRecorder = (options: {
  store: Pick<RecordStore, 'putRecord'>;
  refusals: Pick<Refusals, 'flush'>;
  clock: Clock;
  log: Log;
  seal: Seal;
  /** @default none: for whom a request was is kept as it was sent */
  readWhoKey?: ReadWhoKey | undefined;
}): Recorder => {
  const { store, refusals, clock, log, seal, readWhoKey } = options;
  const put = async (entry: RequestRecord, revision: number, parts: Uint16Array | undefined) => {
    const { who, projectId } = entry;
    const kept = { ...entry };
    const sealed = parts && (await seal(entry.id, parts));
    if (sealed) kept.sealed = sealed;
    if (who && readWhoKey) kept.who = await hashWho(who, projectId, readWhoKey);
    await store.putRecord(kept, revision);
  };

  const write = async (entry: RequestRecord, revision: number, parts: Uint16Array | undefined) => {
    const written = await tryFor(clock, WRITE_TIMEOUT_MS, put(entry, revision, parts));
    if (!written) log.error('record_write_failed', { requestId: entry.id });
  };

  return {
    record: async (entry, revision, parts) => {
      await Promise.all([write(entry, revision, parts), refusals.flush(WRITE_TIMEOUT_MS)]);
    },
  };
};
