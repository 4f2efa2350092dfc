import type { ShareStore, StoredQueue } from '../../stores/notes.ts';
import type { Clock } from '../../support/clock.ts';
import { type Asking, type Correction, decide, type Queue } from './fair-queue.ts';
import { queueIn, textOf } from './queue-text.ts';
import { percentLeft, type Quota } from './quota.ts';

/** A quota that targets declare, by the name that all processes know it by. */
export type NamedQuota = Quota & {
  name: string;
  /** Its limits are those that the provider's latest response stated. */
  isLearned?: boolean;
};

/** What was read or written is taken for the latest. */
const FRESH_MS = 50;
/** Writes of one look that other processes precede. */
const MAX_TRIES = 6;
/** A clock that lags more was just stopped, as that of a frozen function. */
const MAX_AHEAD_MS = 5_000;
export type ShareParts = { store: ShareStore; clock: Clock; random(): number };

/** What this process knows of the queue of a quota. */
export type SharedLine = {
  quota: NamedQuota;
  corrections: (Correction & { at: number })[];
  latest?: StoredQueue & { at: number };
  /** After the latest look. */
  percentLeft?: number | undefined;
  /** How far the fastest clock among the processes is ahead of this one's: it decides when places end. */
  aheadMs: number;
};

/** The quota with what has been learned of it. A provider may lower a limit. */
const knownOf = (quota: NamedQuota, before: Queue | undefined, stated: Correction[]): NamedQuota =>
  quota.isLearned
    ? { ...quota, limits: Object.assign({}, before?.limits, ...stated.map(({ limits }) => limits)) }
    : quota;

/** All are denied, and no place of this process would hold up those behind it until it ends. */
const isUnchanged = (queue: Queue | undefined, by: string, asks: Asking[], waits: number[]) =>
  asks.every(({ leftMs }, index) => (waits[index] ?? 0) > leftMs) &&
  Object.values(queue?.flows ?? {}).every(({ places }) => places.every((one) => one.by !== by));

/** One look of a process: all that wait in it are decided in one write, so that many cost as little as one. */
export const createLook = ({ store, clock, random }: ShareParts) => {
  /** The name of this process in its places and writes. */
  const by = random().toString(36).slice(2, 7);
  let writes = 0;

  const read = async ({ latest, quota }: SharedLine): Promise<StoredQueue | undefined> => {
    if (latest && clock.now() - latest.at < FRESH_MS) return latest;
    return store.readQueue(quota.name);
  };

  const timesOf = (line: SharedLine, before: Queue | undefined) => {
    const now = clock.now();
    const aheadMs = (before?.at ?? 0) - now;
    if (aheadMs <= MAX_AHEAD_MS) line.aheadMs = Math.max(line.aheadMs, aheadMs);
    return { now, aheadMs: line.aheadMs };
  };

  /** How long each of `asks` has to wait; undefined if other processes were faster each time. */
  return async (line: SharedLine, asks: Asking[], corrections: Correction[]) => {
    const { quota } = line;
    let stored = await read(line);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const before = queueIn(stored?.text);
      const known = knownOf(quota, before, corrections);
      const times = timesOf(line, before);
      const decided = decide(before, { asks, corrections }, { quota: known, by, ...times });
      const { waits } = decided;
      if (isUnchanged(before, by, asks, waits)) return waits;
      const queue = quota.isLearned ? { ...decided.queue, limits: known.limits } : decided.queue;
      writes += 1;
      const next = { text: textOf(queue), by: `${by}-${writes}` };
      const written = await store.writeQueue(quota.name, next, stored?.version ?? 0);
      stored = written.stored;
      if (stored) line.latest = { ...stored, at: clock.now() };
      if (written.isWritten) {
        line.percentLeft = percentLeft(known, queue.levels);
        line.corrections = line.corrections.filter((one) => !corrections.includes(one));
        return waits;
      }
    }
    return undefined;
  };
};
