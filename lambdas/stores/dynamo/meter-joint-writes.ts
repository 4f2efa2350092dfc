/** Writes of several requests in one item: a late part of the bundle. */
import type { Reservation, ReservedUnit } from '../meter-store.ts';
import { FLOOR, IN_FLIGHT, periodName, type StaleMarks } from './meter-item.ts';
import { markName, openMarkOf } from './meter-marks.ts';
import {
  bindRemoved,
  bindReservation,
  bindUnit,
  MAY_RAISE_FLOOR,
  RESERVE,
} from './meter-writes.ts';
import type { Bindings, ConditionalWrite } from './table.ts';

/** The counts of an item up to which its requests are admitted. */
export type ItemLimits = { rpm: number; quota: number; concurrency: number };

/**
 * `RESERVE` for several requests of one key and minute, for all of them or for none; in a shard its epoch is given. A
 * late copy meets the mark or the tombstone of at least one of them, so it changes nothing.
 */
export const reserveAll = (
  reservations: Reservation[],
  first: Reservation,
  { limits, epoch }: { limits: ItemLimits; epoch: number | undefined },
): { write: ConditionalWrite; bindings: Bindings } => {
  const marks = bindMarks(reservations);
  const others = reservations.length - 1;
  const { names, values } = bindReservation(first, limits.concurrency);
  const { update, condition = '' } = RESERVE;
  const set = Object.keys(marks).map((mark) => `${mark} = :open`);
  const isNew = Object.keys(marks).map((mark) => `attribute_not_exists(${mark})`);
  const inEpoch = epoch === undefined ? 'attribute_not_exists(#epoch)' : '#epoch = :epoch';
  return {
    write: {
      update: update.replace('#mark = :open', set.join(', ')),
      condition: condition
        .replace('attribute_not_exists(#mark)', isNew.join(' AND '))
        .replace('attribute_not_exists(#epoch)', inEpoch),
    },
    bindings: {
      names: { ...names, ...marks },
      values: {
        ...values,
        ':one': reservations.length,
        ':now': Math.max(...reservations.map(({ now }) => now)),
        ':quota': limits.quota - others,
        ':rpm': limits.rpm - others,
        ':concurrency': limits.concurrency - others,
        ':epoch': epoch,
      },
    },
  };
};

/** The same settlement of several units of one minute and period, of which no copies can be in flight: all or none. */
export const settleAll = (
  write: ConditionalWrite,
  units: ReservedUnit[],
  first: ReservedUnit,
): { write: ConditionalWrite; bindings: Bindings } => {
  const marks = bindMarks(units);
  const { names, values } = bindUnit(first);
  const open = Object.fromEntries(units.map((unit, index) => [`:open${index}`, openMarkOf(unit)]));
  return {
    write: {
      ...write,
      update: write.update.replace('#mark', Object.keys(marks).join(', ')),
      condition: units.map((_, index) => `#mark${index} = :open${index}`).join(' AND '),
    },
    bindings: {
      names: { ...names, ...marks },
      values: { ...values, ...open, ':minusOne': -units.length },
    },
  };
};

const bindMarks = (units: ReservedUnit[]): Record<string, string> =>
  Object.fromEntries(units.map(({ requestId }, index) => [`#mark${index}`, markName(requestId)]));

/**
 * Refunds all these units or none, and removes expired marks. Leaves no tombstones: the floor denies every late
 * copy.
 */
export const reapAll = ({ abandoned, expired, lastMinute }: StaleMarks) => {
  const marks = Object.fromEntries(abandoned.map(({ name }, n) => [`#m${n}`, name]));
  const values = Object.fromEntries(abandoned.map(({ value }, n) => [`:m${n}`, value]));
  const periods = [...new Set(abandoned.map(({ period }) => period))];
  const countIn = (period: string) => abandoned.filter((mark) => mark.period === period).length;
  const inFlight = abandoned.filter(({ isCounted }) => isCounted).length;
  const removed = bindRemoved(expired);
  const added = periods.map((_, n) => `#p${n} :p${n}`);
  if (inFlight > 0) added.push('#inFlight :inFlight');
  const write: ConditionalWrite = {
    update: [
      'SET #floor = :floor',
      `REMOVE ${[...Object.keys(marks), ...Object.keys(removed)].join(', ')}`,
      ...(added.length > 0 ? [`ADD ${added.join(', ')}`] : []),
    ].join(' '),
    condition: [MAY_RAISE_FLOOR, ...abandoned.map((_, n) => `#m${n} = :m${n}`)].join(' AND '),
  };
  return {
    write,
    bindings: {
      names: {
        '#floor': FLOOR,
        '#inFlight': IN_FLIGHT,
        ...marks,
        ...removed,
        ...Object.fromEntries(periods.map((period, n) => [`#p${n}`, periodName(period)])),
      },
      values: {
        ':floor': lastMinute,
        ':inFlight': -inFlight,
        ...values,
        ...Object.fromEntries(periods.map((period, n) => [`:p${n}`, -countIn(period)])),
      },
    },
  };
};
