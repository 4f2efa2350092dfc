import type { MeterCounts, Reservation, ReserveResult } from '../meter-store.ts';
import {
  committedName,
  isKeyRefused,
  minuteName,
  numberIn,
  openName,
  periodName,
  tombstoneName,
} from './meter-item.ts';
import type { Item } from './table.ts';

/** Counts of a minute and a period; a counter that is not there stands at zero. */
export const countsIn = (
  item: Item | undefined,
  { minute, period }: Pick<Reservation, 'minute' | 'period'>,
): MeterCounts => ({
  minuteCount: numberIn(item, minuteName(minute)),
  periodCount: numberIn(item, periodName(period)),
});

/** Why the item refused this reservation; undefined if nothing in it does. `admitted`: a copy of it came first. */
export const outcomeIn = (
  item: Item | undefined,
  reservation: Reservation,
): ReserveResult['outcome'] | undefined => {
  const { requestId, quota, rpm } = reservation;
  const { minuteCount, periodCount } = countsIn(item, reservation);
  if (item && (openName(requestId) in item || committedName(requestId) in item)) return 'admitted';
  if (item && tombstoneName(requestId) in item) return 'withdrawn';
  if (isKeyRefused(item, reservation)) return 'key-refused';
  if (periodCount >= quota) return 'quota-exhausted';
  if (minuteCount >= rpm) return 'rate-limited';
  return undefined;
};
