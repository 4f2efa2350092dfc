import type { RecordStore, Refusal, RefusalBatch, RequestRecord } from '../stores/record-store.ts';
import { type Clock, dayOf, MINUTE_MS, withTimeout } from '../support/clock.ts';
import { type RandomBytes, randomBase62 } from '../support/ids.ts';
import type { Log } from '../support/log.ts';

// --- requests without a unit ---

/** Batches whose write failed, which are repeated with the next one; older ones are dropped. */
const MAX_PENDING = 20;

type RefusedRequest = Omit<Refusal, 'count'> & { projectId: string };

type RefusalCounts = {
  /** Counts one refusal, and writes what is due. Never throws. */
  add(refused: RefusedRequest, timeoutMs: number): Promise<void>;
  /** Writes counts that are older than a minute. Never throws. */
  flush(timeoutMs: number): Promise<void>;
};

type Counted = { since: number; batch: RefusalBatch };

/**
 * Counts refusals in memory. The first of a project is written at once and those of the following minute
 * together, so that a flood of 429s costs one write a minute and environment. An environment that ends
 * takes the counts of its last minute with it: they are a lower bound.
 */
const createRefusalCounts = ({
  store,
  clock,
  randomBytes,
}: {
  store: Pick<RecordStore, 'putRefusals'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): RefusalCounts => {
  const counted = new Map<string, Counted>();
  let pending: RefusalBatch[] = [];
  const writtenAt = new Map<string, number>();

  const entryOf = (projectId: string): Counted => {
    const now = clock.now();
    const day = dayOf(now);
    const name = `${projectId}|${day}`;
    const known = counted.get(name);
    if (known) return known;
    const batch = { id: randomBase62(20, randomBytes), projectId, day, refusals: [] };
    const entry = { since: writtenAt.get(projectId) ?? Number.NEGATIVE_INFINITY, batch };
    counted.set(name, entry);
    return entry;
  };

  const takeDue = (): RefusalBatch[] => {
    const now = clock.now();
    const due = [...counted].filter(([, { since }]) => now - since >= MINUTE_MS);
    for (const [name, { batch }] of due) {
      counted.delete(name);
      writtenAt.set(batch.projectId, now);
    }
    for (const [projectId, since] of writtenAt) {
      if (now - since >= MINUTE_MS) writtenAt.delete(projectId);
    }
    return due.map(([, { batch }]) => batch);
  };

  const flush = async (timeoutMs: number): Promise<void> => {
    const due = takeDue();
    // Repeats are as rare as first writes: an unavailable table is not asked for every refusal.
    if (due.length === 0) return;
    const batches = [...pending, ...due];
    pending = [];
    const write = async (batch: RefusalBatch) => {
      try {
        await store.putRefusals(batch);
      } catch {
        // Repeated with the same id: the failed write may have been applied.
        pending = [...pending, batch].slice(-MAX_PENDING);
      }
    };
    await withTimeout(clock, timeoutMs, Promise.all(batches.map(write)));
  };

  return {
    flush,
    add: async ({ projectId, ...refused }, timeoutMs) => {
      const { refusals } = entryOf(projectId).batch;
      const { keyId, model, status } = refused;
      const same = refusals.find(
        (one) => one.keyId === keyId && one.model === model && one.status === status,
      );
      if (same) same.count += 1;
      else refusals.push({ ...refused, count: 1 });
      await flush(timeoutMs);
    },
  };
};

// --- all requests ---

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
    refuse: (refused) => refusals.add(refused, REFUSAL_TIMEOUT_MS),
  };
};
