import { DAY_MS, MINUTE_MS } from '../../support/durations.ts';
import type { Reservation, ReservedUnit } from '../meter-store.ts';
import type { Item } from './table.ts';

/**
 * The one item of a meter. An attribute's name is a letter and an id:
 *   r<minute> admitted in the minute      o<request> open: reserved, not yet committed
 *   q<period> used in the period          c<request> committed: the unit sticks
 *   u<key>    key is refused from (ms)    x<request> tombstone: refunded, or never to be admitted
 *   l<key>    key last admitted at (ms)
 * o, c and x hold a mark `<minute>|<period>`: the minute gives the age, the period names the counter to
 * refund even if the plan or the calendar has moved on.
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

/** 15 minutes is the longest life of a request (Lambda's limit, and of a signed write that is late); 2 for clocks. */
const ABANDONED_AFTER_MS = 17 * MINUTE_MS;
/** A minute's counter outlives it by more than environments' clocks differ. */
const MINUTE_KEPT_MS = 5 * MINUTE_MS;
/** A period's counter outlives every request that could still be refunded to it. */
const PERIOD_KEPT_MS = 20 * MINUTE_MS;
/** Caches serve a key for at most 10 minutes; after a day its record alone refuses it. */
const KEY_END_KEPT_MS = DAY_MS;

export const numberIn = (item: Item | undefined, name: string): number => {
  const value = item?.[name];
  return typeof value === 'number' ? value : 0;
};

/** True from the key's end on. */
export const isKeyRefused = (
  item: Item | undefined,
  { keyId, now }: Pick<Reservation, 'keyId' | 'now'>,
): boolean => {
  const end = item?.[keyEndName(keyId)];
  return typeof end === 'number' && end <= now;
};

export type StaleMarks = {
  /** Open units of dead processes: to be refunded. */
  abandoned: { requestId: string; minute: number; period: string }[];
  /** Names of marks that no process can need any more. */
  forgettable: string[];
};

/** What a reaper would find at `now`. */
export const staleMarksIn = (item: Item, now: number): StaleMarks => {
  const leftovers: StaleMarks = { abandoned: [], forgettable: [] };
  for (const [name, value] of Object.entries(item)) {
    const kind = name[0];
    const id = name.slice(1);
    if (kind === 'u' && Number(value) + KEY_END_KEPT_MS < now) {
      leftovers.forgettable.push(name, lastUsedName(id));
    }
    if (kind !== 'o' && kind !== 'c' && kind !== 'x') continue;
    const mark = readMark(value);
    if (mark.minute * MINUTE_MS + ABANDONED_AFTER_MS > now) continue;
    if (kind === 'o') leftovers.abandoned.push({ requestId: id, ...mark });
    else leftovers.forgettable.push(name);
  }
  return leftovers;
};

export const hasStaleMarks = (item: Item | undefined, now: number): boolean => {
  if (!item) return false;
  const { abandoned, forgettable } = staleMarksIn(item, now);
  return abandoned.length > 0 || forgettable.length > 0;
};

/** ISO text begins with its period's label and sorts like time, so a later text is a later period. */
const isPeriodOver = (period: string, instant: number): boolean =>
  new Date(instant).toISOString().slice(0, period.length) > period;

/**
 * Names of counters that nothing can count in again: their window ended long enough ago, and no request
 * that is still in flight holds a unit of them.
 */
export const expiredCounters = (item: Item, now: number): string[] => {
  const heldPeriods = new Set(
    Object.entries(item)
      .filter(([name]) => name[0] === 'o' || name[0] === 'c')
      .map(([, mark]) => readMark(mark).period),
  );
  return Object.keys(item).filter((name) => {
    const id = name.slice(1);
    if (name[0] === 'r') return (Number(id) + 1) * MINUTE_MS + MINUTE_KEPT_MS < now;
    return name[0] === 'q' && isPeriodOver(id, now - PERIOD_KEPT_MS) && !heldPeriods.has(id);
  });
};
