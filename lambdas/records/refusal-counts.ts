import type { RecordStore, Refusal, RefusalBatch } from '../stores/record-store.ts';
import { type Clock, dayOf, MINUTE_MS, withTimeout } from '../support/clock.ts';
import { newRequestId, type RandomBytes, suffixOf } from '../support/ids.ts';

/** A write takes a few milliseconds. Later, the response has ended and the platform waits for nothing else. */
export const WRITE_TIMEOUT_MS = 1_000;

/** Batches whose write failed, which are repeated with the next one; older ones are dropped. */
const MAX_PENDING = 20;

export type CountedRefusal = Omit<Refusal, 'count'> & { projectId: string };

export type RefusalCounts = {
  /** Counts one refusal, and writes what is due. Never throws. */
  add(refused: CountedRefusal, timeoutMs: number): Promise<void>;
  /** Writes counts that are older than a minute. Never throws. */
  flush(timeoutMs: number): Promise<void>;
};

type Counted = Omit<RefusalBatch, 'id'> & { since: number };

/**
 * Counts refusals in memory. The first of a project is written at once and those of the following minute
 * together, so that a flood of 429s costs one write a minute and environment. A timer writes those that no later
 * request writes. An environment that ends takes the counts of its last minute with it: they are a lower bound.
 */
export const createRefusalCounts = (parts: {
  store: Pick<RecordStore, 'putRefusals'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): RefusalCounts => {
  const { store, clock, randomBytes } = parts;
  const counted = new Map<string, Counted>();
  let pending: RefusalBatch[] = [];
  let isArmed = false;
  const writtenAt = new Map<string, number>();

  const entryOf = (projectId: string): Counted => {
    const now = clock.now();
    const day = dayOf(now);
    const name = `${projectId}|${day}`;
    const known = counted.get(name);
    if (known) return known;
    const since = writtenAt.get(projectId) ?? Number.NEGATIVE_INFINITY;
    const entry = { since, projectId, day, refusals: [] };
    counted.set(name, entry);
    return entry;
  };

  const takeDue = (): RefusalBatch[] => {
    const now = clock.now();
    const due = [...counted].filter(([, { since }]) => now - since >= MINUTE_MS);
    for (const [name, { projectId }] of due) {
      counted.delete(name);
      writtenAt.set(projectId, now);
    }
    for (const [projectId, since] of writtenAt) {
      if (now - since >= MINUTE_MS) writtenAt.delete(projectId);
    }
    // The id has the time of the write: a run of the history reads on from the last it has read.
    return due.map(([, { projectId, day, refusals }]) => ({
      id: suffixOf(newRequestId(randomBytes, now)),
      ...{ projectId, day, refusals },
    }));
  };

  const writeAll = async (due: RefusalBatch[], timeoutMs: number): Promise<void> => {
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

  const flush = async (timeoutMs: number): Promise<void> => {
    const due = takeDue();
    // Repeats are as rare as first writes: an unavailable table is not asked for every refusal.
    if (due.length > 0) await writeAll(due, timeoutMs);
  };

  const arm = (): void => {
    if (isArmed || counted.size + pending.length === 0) return;
    isArmed = true;
    clock.after(MINUTE_MS, () => {
      isArmed = false;
      void writeAll(takeDue(), WRITE_TIMEOUT_MS).then(arm);
    });
  };

  return {
    flush,
    add: async ({ projectId, ...refused }, timeoutMs) => {
      const { refusals } = entryOf(projectId);
      const { keyId, model, status } = refused;
      const same = refusals.find(
        (one) => one.keyId === keyId && one.model === model && one.status === status,
      );
      if (same) same.count += 1;
      else refusals.push({ ...refused, count: 1 });
      await flush(timeoutMs);
      arm();
    },
  };
};
