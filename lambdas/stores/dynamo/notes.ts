import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../support/clock.ts';
import { number, object, optional, readIfValid, string } from '../../support/schema.ts';
import type {
  BreakerStore,
  CancelStore,
  LessonStore,
  Notes,
  ReachedThreshold,
  ReceiptStore,
  ThresholdStore,
} from '../notes.ts';
import { expiring } from './item-write.ts';
import { createTable, type Table, type TableOptions } from './table.ts';

const StoredBreaker = object({ openUntil: number, openings: number, version: number });

const breakerKey = (target: string): string => `B#${target}`;

const breakersIn = (table: Table): BreakerStore => ({
  readBreaker: async (target) => {
    // Kept for 2 s by its reader; transitions and probes are decided by conditions.
    const item = await table.read(breakerKey(target), { mayBeStale: true });
    return readIfValid(StoredBreaker, item);
  },
  transitionBreaker: (target, { openUntil, openings }, seen) =>
    table.applies(breakerKey(target), {
      // A breaker without a transition for a day is obsolete.
      set: { openUntil, openings, version: seen + 1, ...expiring(openUntil + DAY_MS) },
      remove: ['probeUntil'],
      conditions: [['version', '= or absent', seen]],
    }),
  takeProbe: (target, now, until) =>
    table.applies(breakerKey(target), {
      // A probe that never reported its outcome is released then.
      set: { probeUntil: until },
      conditions: [
        ['openUntil', '<=', now],
        ['probeUntil', '<= or absent', now],
      ],
    }),
});

const cancelKey = (projectId: string): string => `C#${projectId}`;
const REQUEST_ID = /^req_/;

/** An item per project, with an attribute per request. Both writes may be repeated. */
const cancelsIn = (table: Table): CancelStore => ({
  addCancel: async (projectId, requestId, now) => {
    const { applied, mayBeDuplicated } = await table.apply(cancelKey(projectId), {
      set: { [requestId]: now, ...expiring(now + HOUR_MS) },
      conditions: [[requestId, 'is absent']],
    });
    return applied || mayBeDuplicated;
  },
  removeCancel: async (projectId, requestId) => {
    await table.apply(cancelKey(projectId), { remove: [requestId] });
  },
  listCancels: async (projectId) =>
    Object.keys((await table.read(cancelKey(projectId))) ?? {}).filter((name) =>
      REQUEST_ID.test(name),
    ),
});

const StoredLesson = object({
  profile: string,
  until: number,
  ages: optional(string),
  owners: optional(string),
});

const LESSONS = 'L#lessons';
/** Before the name of a target, so that no other attribute has it. */
const TARGET = 't:';

/** One item, read at once, with an attribute per target. */
const lessonsIn = (table: Table): LessonStore => ({
  readLessons: async () => {
    // Kept for a minute by its reader.
    const item = (await table.read(LESSONS, { mayBeStale: true })) ?? {};
    return Object.fromEntries(
      Object.entries(item).flatMap(([name, value]) => {
        const lesson = name.startsWith(TARGET) ? readIfValid(StoredLesson, value) : undefined;
        return lesson ? [[name.slice(TARGET.length), lesson]] : [];
      }),
    );
  },
  writeLesson: async (target, lesson) => {
    // Safe to repeat: the same lesson is written again.
    await table.apply(LESSONS, { set: { [`${TARGET}${target}`]: lesson } });
  },
});

const receiptKey = (target: string): string => `R#${target}`;
/** Before the number of a place. */
const PLACE = 'r';

/** An item per target, with an attribute per place. */
const receiptsIn = (table: Table): ReceiptStore => ({
  readReceipts: async (target) => {
    const item = (await table.read(receiptKey(target), { mayBeStale: true })) ?? {};
    return Object.entries(item).flatMap(([name, value]): [number, string][] => {
      const place = name.startsWith(PLACE) ? Number(name.slice(PLACE.length)) : Number.NaN;
      return Number.isInteger(place) && typeof value === 'string' ? [[place, value]] : [];
    });
  },
  writeReceipts: async (target, receipts, until) => {
    const places = [...receipts].map(([place, receipt]) => [`${PLACE}${place}`, receipt]);
    const set = { ...expiring(until), ...Object.fromEntries(places) };
    // Safe to repeat: the same receipts are written again.
    await table.apply(receiptKey(target), { set, returns: 'NONE' });
  },
});

/** Longer than the longest period that ends. */
const REACHED_MS = 40 * DAY_MS;

const reachedKey = ({ meterId, period, quota, threshold }: ReachedThreshold): string =>
  `T#${meterId}|${period}|${quota}|${threshold}`;

/** An item per threshold that was reached. */
const thresholdsIn = (table: Table): ThresholdStore => ({
  claim: async (reached, now) => {
    const key = reachedKey(reached);
    const isEndless = reached.period === 'total';
    const { applied } = await table.apply(key, {
      set: { claimedUntil: now + MINUTE_MS, ...(!isEndless && expiring(now + REACHED_MS)) },
      conditions: [
        ['isAnnounced', 'is absent'],
        ['claimedUntil', '<= or absent', now],
      ],
    });
    if (applied) return 'claimed';
    return (await table.read(key))?.isAnnounced === true ? 'announced' : 'busy';
  },
  markAnnounced: async (reached) => {
    await table.apply(reachedKey(reached), { set: { isAnnounced: true } });
  },
});

/** `Notes` on the meters table. */
export const createDynamoNotes = (options: TableOptions): Notes => {
  const table = createTable(options);
  return {
    breakers: breakersIn(table),
    cancels: cancelsIn(table),
    lessons: lessonsIn(table),
    receipts: receiptsIn(table),
    thresholds: thresholdsIn(table),
  };
};
