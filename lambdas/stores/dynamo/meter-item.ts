import { DAY_MS, MINUTE_MS } from '../../support/time.ts';
import type { MeterCounts, Reservation, ReservedUnit, ReserveResult } from '../meter-store.ts';
import type { Item } from './table.ts';

/**
 * Layout of a meter's single item. An attribute's name is a letter and an id:
 *   r<minute> admitted in the minute      o<request> open: reserved, not yet committed
 *   q<period> used in the period          c<request> committed: the unit is charged
 *   u<key>    key is denied from (ms); negative: revoked at (ms), denied independent of any clock
 *                                         x<request> tombstone: refunded, can never be admitted
 *   l<key>    key last admitted at (ms)
 * o, c and x hold a mark `<minute>|<period>`: the minute gives the age, and the period names the counter
 * to refund even if the plan or the calendar period has changed since.
 */
export const openName = (requestId: string): string => `o${requestId}`;
export const committedName = (requestId: string): string => `c${requestId}`;
export const tombstoneName = (requestId: string): string => `x${requestId}`;
export const minuteName = (minute: number): string => `r${minute}`;
export const periodName = (period: string): string => `q${period}`;
export const keyEndName = (keyId: string): string => `u${keyId}`;
export const lastUsedName = (keyId: string): string => `l${keyId}`;

export const markOf = (unit: Pick<ReservedUnit, 'minute' | 'period'>): string =>
  `${unit.minute}|${unit.period}`;

const readMark = (mark: unknown): { minute: number; period: string } => {
  const [minute = '', period = ''] = String(mark).split('|');
  return { minute: Number(minute), period };
};

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

/** Value of a numeric attribute; an absent counter is 0. */
export const numberIn = (item: Item | undefined, name: string): number => {
  const value = item?.[name];
  return typeof value === 'number' ? value : 0;
};

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

export const countsIn = (
  item: Item | undefined,
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
): MeterCounts => ({
  minuteCount: numberIn(item, minuteName(minute)),
  periodCount: numberIn(item, periodName(period)),
});

/**
 * Why the condition of `RESERVE` failed on this item; undefined if the item would admit the reservation.
 * `admitted`: an earlier copy of the same write was applied.
 */
export const outcomeIn = (
  item: Item | undefined,
  reservation: Reservation,
): ReserveResult['outcome'] | undefined => {
  const { requestId, quota, rpm } = reservation;
  const { minuteCount, periodCount } = countsIn(item, reservation);
  if (item && (openName(requestId) in item || committedName(requestId) in item)) return 'admitted';
  if (item && tombstoneName(requestId) in item) return 'refunded';
  if (isKeyEnded(item, reservation)) return 'key-ended';
  if (periodCount >= quota) return 'quota-exhausted';
  if (minuteCount >= rpm) return 'rate-limited';
  return undefined;
};

export type StaleMarks = {
  /** Open units of dead processes, to be refunded. */
  abandoned: { requestId: string; minute: number; period: string }[];
  /** Names of marks that no process can need any longer, to be removed. */
  expired: string[];
};

/** Marks of keys that ended long ago. A mark of 0 is undated (revoked by version 0.1.0), so it is kept. */
const expiredKeyEnds = (item: Item, now: number): string[] =>
  Object.entries(item)
    .filter(([name, value]) => name[0] === 'u' && value !== 0)
    .map(([name, value]) => ({ id: name.slice(1), age: now - Math.abs(Number(value)) }))
    .toSorted((one, other) => one.age - other.age)
    .filter(
      ({ age }, index) =>
        age > (index < KEY_ENDS_KEPT ? KEY_END_KEPT_MS : KEY_END_KEPT_AT_LEAST_MS),
    )
    .flatMap(({ id }) => [keyEndName(id), lastUsedName(id)]);

/** What `reap` refunds and removes at `now`. */
export const staleMarksIn = (item: Item, now: number): StaleMarks => {
  const stale: StaleMarks = { abandoned: [], expired: expiredKeyEnds(item, now) };
  for (const [name, value] of Object.entries(item)) {
    const kind = name[0];
    const id = name.slice(1);
    if (kind !== 'o' && kind !== 'c' && kind !== 'x') continue;
    const mark = readMark(value);
    if (mark.minute * MINUTE_MS + ABANDONED_AFTER_MS > now) continue;
    if (kind === 'o') stale.abandoned.push({ requestId: id, ...mark });
    else stale.expired.push(name);
  }
  return stale;
};

export const hasStaleMarks = (item: Item | undefined, now: number): boolean => {
  if (!item) return false;
  const { abandoned, expired } = staleMarksIn(item, now);
  return abandoned.length > 0 || expired.length > 0;
};

/** Units of the period that a refund may still return. */
export const hasUnitsInFlight = (
  item: Item | undefined,
  { period }: Pick<Reservation, 'period'>,
): boolean =>
  Object.entries(item ?? {}).some(
    ([name, mark]) => (name[0] === 'o' || name[0] === 'c') && readMark(mark).period === period,
  );

/** ISO text begins with its period's label and sorts like time, so a later text is a later period. */
const isPeriodOver = (period: string, instant: number): boolean =>
  new Date(instant).toISOString().slice(0, period.length) > period;

/**
 * Names of counters that no write can change again: their window ended long enough ago, and no request in
 * flight has a unit in them.
 */
export const expiredCounters = (item: Item, now: number): string[] => {
  const periodsInUse = new Set(
    Object.entries(item)
      .filter(([name]) => name[0] === 'o' || name[0] === 'c')
      .map(([, mark]) => readMark(mark).period),
  );
  return Object.keys(item).filter((name) => {
    const id = name.slice(1);
    if (name[0] === 'r') return (Number(id) + 1) * MINUTE_MS + MINUTE_KEPT_MS < now;
    return name[0] === 'q' && isPeriodOver(id, now - PERIOD_KEPT_MS) && !periodsInUse.has(id);
  });
};
