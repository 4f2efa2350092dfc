import { DAY_MS, MINUTE_MS } from '../../support/clock.ts';
import type { EndedPeriod, MeterCounts, Reservation } from '../meter-store.ts';
import { isMarkOf, MARK, type Mark, markName, marksIn } from './meter-marks.ts';
import type { Item } from './table.ts';

/**
 * Layout of a meter's item. An attribute's name is a letter and an id:
 *   r<minute> admitted in the minute      m<request> mark of a request, see below
 *   q<period> used in the period          n          requests in flight: the number of open marks
 *   u<key>    key is denied from (ms); negative: revoked at (ms), denied independent of any clock
 *   l<key>    key last admitted at (ms)   f          floor: the last minute that admits no request any more
 *   c<period> keeps q<period>, see below  needs      what a reader has to know (needs.ts)
 *
 * A mark has 13 bytes, so that 60 requests in flight fit into the KB that one write unit pays for: seven
 * characters of the request's id name it (41 bits; it lives for minutes), and its value is the kind of the
 * period (`m`onth, `d`ay, `h`our) and the minute since 2026 in base 36. Both together name the counter to refund, even if
 * the plan or the calendar period has changed since. An `x` in front makes it a tombstone: the request was
 * settled, and a late copy of its reservation changes nothing.
 *
 * Version 0.1.0 wrote `o<request>`, `c<request>` (charged) and `x<request>` with `<minute>|<period>`; the
 * reaper still removes those of processes that an upgrade ended. After a rollback 0.1.0 removes the count of a period
 * that has ended, which the history has not got yet, unless a request of it is in flight: `c<period>` is such a
 * request to it.
 */
export const minuteName = (minute: number): string => `r${minute}`;
export const periodName = (period: string): string => `q${period}`;
export const holdName = (period: string): string => `c${period}`;
/** In a minute that no clock reaches. */
export const holdOf = (period: string): string => `99999999|${period}`;
export const keyEndName = (keyId: string): string => `u${keyId}`;
export const lastUsedName = (keyId: string): string => `l${keyId}`;
export const IN_FLIGHT = 'n';
export const FLOOR = 'f';
/** In the items of a sharded meter only (meter-shards.ts). */
export const EPOCH = 'e';
/** What a root has lent of a counter; it is part of the counter too. */
export const lentName = (counter: string): string => `a${counter}`;

/** Key of a meter's item; 0 is the root. */
export const itemKey = (meterId: string, shard: number): string =>
  shard === 0 ? meterId : `${meterId}/${shard}`;

/**
 * A request lives at most 15 minutes (the limit of Lambda, and of a signed write that arrives late); 2 more
 * allow for clock skew.
 */
const ABANDONED_AFTER_MS = 17 * MINUTE_MS;
/** Longer than the clocks of two environments differ. */
const MINUTE_KEPT_MS = 5 * MINUTE_MS;
/** Longer than any request that could still be refunded to the period. */
const PERIOD_KEPT_MS = 20 * MINUTE_MS;
/**
 * Caches serve a key for at most 10 minutes after its end; the mark is kept far longer, because `l<key>` is
 * removed with it and is what one looks for after a leak.
 */
const KEY_END_KEPT_MS = 30 * DAY_MS;
/** Of the keys that ended last; bounds the item when keys are rotated daily. */
const KEY_ENDS_KEPT = 4;
/** Even if more keys end: longer than any cache serves one. */
const KEY_END_KEPT_AT_LEAST_MS = DAY_MS;
/** Counters that one write removes at most, more than a minute of 64 shards leaves; keeps the expression below 4 KB. */
const MAX_REMOVED = 100;

/** Value of a numeric attribute; an absent counter is 0. */
export const numberIn = (item: Item | undefined, name: string): number => {
  const value = item?.[name];
  return typeof value === 'number' ? value : 0;
};

/** What the item itself counts: without what it has lent, which other items count. */
export const ownCount = (item: Item | undefined, counter: string): number =>
  numberIn(item, counter) - numberIn(item, lentName(counter));

/** Value of the `u` mark of a key that was revoked at `now`. */
export const revokedAt = (now: number): number => -now;

/** True from the instant at which the key was revoked, replaced or expired. */
export const isKeyEnded = (
  item: Item | undefined,
  { keyId, now }: Pick<Reservation, 'keyId' | 'now'>,
): boolean => {
  const end = item?.[keyEndName(keyId)];
  return typeof end === 'number' && end <= now;
};

/** Open units of the period: a refund may still return them. */
const reservedIn = (marks: Mark[], period: string): number =>
  marks.filter((mark) => mark.isOpen && mark.period === period).length;

/** The item that a write for several requests left, without the counts of `others` of them. */
export const withoutOthers = (
  item: Item,
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
  others: number,
): Item => {
  const lower = (name: string) => [name, numberIn(item, name) - others];
  return {
    ...item,
    ...Object.fromEntries([minuteName(minute), periodName(period), IN_FLIGHT].map(lower)),
  };
};

/**
 * The outcome of a reservation that the item determines independent of limits, undefined if none.
 * `admitted`: an earlier copy of the same write was applied.
 */
export const ownOutcomeIn = (
  item: Item | undefined,
  reservation: Reservation,
): 'admitted' | 'too-late' | 'key-ended' | undefined => {
  const mark = item?.[markName(reservation.requestId)];
  if (isMarkOf(mark, reservation)) return 'admitted';
  if (mark !== undefined || numberIn(item, FLOOR) >= reservation.minute) return 'too-late';
  return isKeyEnded(item, reservation) ? 'key-ended' : undefined;
};

export type StaleMarks = {
  /** Open units of dead processes, to be refunded. */
  abandoned: Mark[];
  /** Names of attributes that no process can need any longer, to be removed. */
  expired: string[];
  /** The last minute of all these marks. */
  lastMinute: number;
};

/** Marks of keys that ended long ago. A mark of 0 is undated (revoked by version 0.1.0), so it is kept. */
const expiredKeyEnds = (item: Item | undefined, now: number): string[] =>
  Object.keys(item ?? {})
    .filter((name) => name[0] === 'u' && numberIn(item, name) !== 0)
    .map((name) => ({ id: name.slice(1), age: now - Math.abs(numberIn(item, name)) }))
    .toSorted((one, other) => one.age - other.age)
    .filter(
      ({ age }, index) =>
        age > (index < KEY_ENDS_KEPT ? KEY_END_KEPT_MS : KEY_END_KEPT_AT_LEAST_MS),
    )
    .flatMap(({ id }) => [keyEndName(id), lastUsedName(id)]);

const isStale = ({ minute }: Mark, now: number): boolean =>
  minute * MINUTE_MS + ABANDONED_AFTER_MS <= now;

/** What `reap` refunds and removes at `now`. */
export const staleMarksIn = (item: Item, now: number): StaleMarks => {
  const stale = marksIn(item).filter((mark) => isStale(mark, now));
  const tombstones = stale.filter(({ isOpen }) => !isOpen).map(({ name }) => name);
  return {
    abandoned: stale.filter(({ isOpen }) => isOpen),
    expired: [...tombstones, ...expiredKeyEnds(item, now)],
    lastMinute: Math.max(numberIn(item, FLOOR), ...stale.map(({ minute }) => minute)),
  };
};

/** The counts of an item, and whether it has stale marks: one walk over its marks for both. */
export const countsIn = (
  item: Item | undefined,
  { minute, period, now }: Pick<Reservation, 'minute' | 'period' | 'now'>,
): MeterCounts & { hasStaleMarks: boolean } => {
  const marks = marksIn(item);
  return {
    minuteCount: ownCount(item, minuteName(minute)),
    periodCount: ownCount(item, periodName(period)),
    reservedCount: reservedIn(marks, period),
    inFlightCount: ownCount(item, IN_FLIGHT),
    hasStaleMarks: marks.some((mark) => isStale(mark, now)) || expiredKeyEnds(item, now).length > 0,
  };
};

/** ISO text begins with its period's label and sorts like time, so a later text is a later period. */
const isPeriodOver = (period: string, instant: number): boolean =>
  new Date(instant).toISOString().slice(0, period.length) > period;

/** Counters of past minutes, and the last minute among them, which then becomes the floor. */
export type PastCounters = { names: string[]; floor: number };

/** The counter of a minute, and what a sharded meter keeps of it. */
const MINUTE_NAME = /^(?:r|ar|g\d+:r|b\d+:r)(\d+)$/;

/** Minutes' counters that no write can change again. Undefined if there are none. */
export const pastCountersIn = (item: Item, now: number): PastCounters | undefined => {
  const names: string[] = [];
  let floor = numberIn(item, FLOOR);
  for (const name in item) {
    const minute = Number(MINUTE_NAME.exec(name)?.[1] ?? Number.NaN);
    const isPast = (minute + 1) * MINUTE_MS + MINUTE_KEPT_MS < now;
    if (!isPast) continue;
    names.push(name);
    floor = Math.max(floor, minute);
  }
  return names.length === 0 ? undefined : { names: names.slice(0, MAX_REMOVED), floor };
};

/**
 * The periods whose counters no write can change again: they ended long enough ago, and no request in flight
 * has a unit in them. The history moves them.
 */
export const endedPeriodsIn = (items: Item[], now: number): EndedPeriod[] => {
  const counters = items.flatMap((item) => Object.keys(item).filter((name) => name[0] === 'q'));
  return [...new Set(counters)]
    .map((name) => ({
      period: name.slice(1),
      used: items.reduce((sum, item) => sum + ownCount(item, name), 0),
    }))
    .filter(
      ({ period }) =>
        isPeriodOver(period, now - PERIOD_KEPT_MS) &&
        items.every((item) => reservedIn(marksIn(item), period) === 0),
    );
};

/**
 * Elects one of the requests in flight to remove past counters with its last write, because that write is
 * conditional on the floor, and of two such writes one would have to be repeated.
 */
export const isFirstMark = (item: Item, requestId: string): boolean => {
  const own = markName(requestId);
  for (const name in item) if (name.startsWith(MARK) && name < own) return false;
  return true;
};
