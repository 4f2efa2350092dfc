import type { Lease } from '../budget-store.ts';
import type { Reservation, ReservedUnit } from '../meter-store.ts';
import { roomName } from './budgets/items.ts';
import {
  EPOCH,
  FLOOR,
  holdName,
  holdOf,
  IN_FLIGHT,
  keyEndName,
  lastUsedName,
  minuteName,
  type PastCounters,
  periodName,
} from './meter-item.ts';
import { markName, openMarkOf, tombstoneOf } from './meter-marks.ts';
import { NEEDS } from './needs.ts';
import type { Bindings, ConditionalWrite } from './table.ts';

/**
 * The conditional writes of a meter's item. Each is a no-op when repeated, because its condition names the
 * request's own mark, which the write itself changes (m: open mark, x: tombstone, r, q, n: counters):
 *
 *   time ------------------------------------------------------------------------------------->
 *   reserve                        charge                      answered: 1 unit
 *   +m +1r +1q +1n                 -m -1n
 *   reserve                        refund                      failed, at any time: 0 units
 *   +m +1r +1q +1n                 -m -1n -1q
 *   reserve                        withdraw                    decided again with other limits: 0 units, 0 requests
 *   +m +1r +1q +1n                 -m -1n -1q -1r
 *   reserve (no response) …        charge or refund            a late copy of the reserve meets x: no-op
 *   ?                              m -> x -1n, or +x
 *   reserve   †                    reap, 17 min later          process died before it settled: 0 units
 *   +m +1r +1q +1n                 -m -1n -1q, floor
 *
 * If the reserve of a request was sent twice, a tombstone replaces its mark. What removes tombstones, marks of
 * dead processes and counters of past minutes raises the floor to their minute, and a reserve at or below the
 * floor fails: no copy of any write ever meets an item that has forgotten its request. A limit of 0 is decided
 * before `RESERVE`: `attribute_not_exists` would admit one request. An item with an epoch is the root of a sharded
 * meter, which admits no requests (meter-shards.ts); one with `needs` has that layout or one of a later version.
 */
export const RESERVE: ConditionalWrite = {
  update:
    'SET #mark = :open, #lastUsed = :now, #hold = :hold ADD #minute :one, #period :one, #inFlight :one',
  condition: [
    'attribute_not_exists(#mark)',
    '(attribute_not_exists(#floor) OR #floor < :minute)',
    '(attribute_not_exists(#keyEnd) OR #keyEnd > :now)',
    '(attribute_not_exists(#period) OR #period < :quota)',
    '(attribute_not_exists(#minute) OR #minute < :rpm)',
    '(attribute_not_exists(#inFlight) OR #inFlight < :concurrency)',
    'attribute_not_exists(#epoch)',
    'attribute_not_exists(#needs)',
  ].join(' AND '),
};

/** Settles a request whose reserve may have been sent more than once. */
export const CHARGE_DUPLICATED: ConditionalWrite = {
  update: 'SET #mark = :tombstone ADD #inFlight :minusOne',
  condition: '#mark = :open',
};
export const REFUND_DUPLICATED: ConditionalWrite = {
  update: 'SET #mark = :tombstone ADD #inFlight :minusOne, #period :minusOne',
  condition: '#mark = :open',
};

/** Tombstones a request that is not reserved, so that a late reserve fails. */
export const TOMBSTONE: ConditionalWrite = {
  update: 'SET #mark = :tombstone',
  condition: 'attribute_not_exists(#mark)',
};

/** Settles a request of which no copy can be in flight; it leaves no mark, so no later cleanup is needed. */
export const CHARGE: ConditionalWrite = {
  update: 'REMOVE #mark ADD #inFlight :minusOne',
  condition: '#mark = :open',
  returns: 'NONE',
};
export const REFUND: ConditionalWrite = {
  update: 'REMOVE #mark ADD #inFlight :minusOne, #period :minusOne',
  condition: '#mark = :open',
  returns: 'NONE',
};

export const WITHDRAW: ConditionalWrite = {
  update: 'REMOVE #mark ADD #inFlight :minusOne, #period :minusOne, #minute :minusOne',
  condition: '#mark = :open',
  returns: 'NONE',
};

/** The same write, which also removes counters of past windows, unless another write raised the floor. */
export const removingPast = (
  settlement: ConditionalWrite,
  { names, values }: Bindings,
  past: PastCounters,
): { write: ConditionalWrite; bindings: Bindings } => {
  const { update, condition } = settlement;
  const removed = bindRemoved(past.names);
  const list = ['#mark', ...Object.keys(removed)].join(', ');
  return {
    write: {
      ...settlement,
      update: `SET #floor = :floor ${update.replace('REMOVE #mark', `REMOVE ${list}`)}`,
      condition: `${condition} AND ${MAY_RAISE_FLOOR}`,
    },
    bindings: { names: { ...names, ...removed }, values: { ...values, ':floor': past.floor } },
  };
};

export const MAY_RAISE_FLOOR = '(attribute_not_exists(#floor) OR #floor <= :floor)';

/** The earliest end wins, so that a late copy of a rotation cannot undo a revocation. */
export const END_KEY: ConditionalWrite = {
  update: 'SET #keyEnd = :end',
  condition: 'attribute_not_exists(#keyEnd) OR #keyEnd > :end',
};

/** Free calls use a separate item per minute. A repeated write may count twice, which only lowers the limit. */
export const COUNT_FREE: ConditionalWrite = {
  update: 'SET #ttl = :ttl ADD #count :one',
  condition: 'attribute_not_exists(#count) OR #count < :cap',
};

/** What is left of a lease goes back to its rooms. */
const bindReturn = ({ holds, nanos, spent }: Lease) => ({
  names: Object.fromEntries(holds.map((hold, index) => [`#room${index}`, roomName(hold)])),
  values: { ':back': nanos - spent },
});

/** A settlement that also returns the rest of the unit's lease. */
export const returning = (write: ConditionalWrite, lease: Lease): ConditionalWrite => ({
  ...write,
  update: [write.update, ...lease.holds.map((_, index) => `#room${index} :back`)].join(', '),
});

/** Bindings of a request's own writes. */
export const bindUnit = (unit: ReservedUnit) => {
  const own = bindOwn(unit);
  if (!unit.lease) return own;
  const { names, values } = bindReturn(unit.lease);
  return { names: { ...names, ...own.names }, values: { ...values, ...own.values } };
};

const bindOwn = (unit: ReservedUnit) => ({
  names: {
    '#mark': markName(unit.requestId),
    '#minute': minuteName(unit.minute),
    '#period': periodName(unit.period),
    '#inFlight': IN_FLIGHT,
    '#floor': FLOOR,
  },
  values: {
    ':open': openMarkOf(unit),
    ':tombstone': tombstoneOf(unit),
    ':one': 1,
    ':minusOne': -1,
  },
});

/** Bindings of `RESERVE` in an item that holds at most `marks` requests in flight. */
export const bindReservation = (reservation: Reservation, marks: number) => {
  const { names, values } = bindUnit(reservation);
  const { keyId, now, minute, quota, rpm, concurrency } = reservation;
  return {
    names: {
      ...names,
      '#keyEnd': keyEndName(keyId),
      '#lastUsed': lastUsedName(keyId),
      '#hold': holdName(reservation.period),
      '#epoch': EPOCH,
      '#needs': NEEDS,
    },
    values: {
      ...values,
      ':now': now,
      ':hold': holdOf(reservation.period),
      ':minute': minute,
      ':quota': quota,
      ':rpm': rpm,
      ':concurrency': Math.min(concurrency ?? marks, marks),
    },
  };
};

/** Placeholders of attributes, for a `REMOVE`. */
export const bindRemoved = (attributes: string[]): Record<string, string> =>
  Object.fromEntries(attributes.map((name, index) => [`#a${index}`, name]));
