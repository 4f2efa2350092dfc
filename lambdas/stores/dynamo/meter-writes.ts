import type { Reservation, ReservedUnit } from '../meter-store.ts';
import {
  committedName,
  keyEndName,
  lastUsedName,
  markOf,
  minuteName,
  openName,
  periodName,
  type StaleMarks,
  tombstoneName,
} from './meter-item.ts';
import type { ConditionalWrite } from './table.ts';

/**
 * The conditional writes of a meter's item. Each is a no-op when repeated, because its condition names the
 * request's own marks, which the write itself changes:
 *
 *   time ------------------------------------------------------------------------------------->
 *   reserve          commit             close
 *   +o +1r +1q       o -> c             -c                     completed: 1 unit
 *   reserve          refund             (no-op)
 *   +o +1r +1q       -o -1q                                    failed before the first content: 0 units
 *   reserve   commit   refund           (no-op)
 *   +o +1r +1q o -> c  -c -1q                                  failed in mid-stream: 0 units
 *   reserve (no response) … refund      (no-op)
 *   ?                  +x, or as above  x stays 17 min         a late copy of the reserve meets x: no-op
 *   reserve   †                         reap, 17 min later
 *   +o +1r +1q                          -o -1q                 process died: 0 units
 *   reserve   commit   †                reap, 17 min later
 *   +o +1r +1q o -> c                   -c                     process died after the first content: 1 unit
 *
 * If any write of a request was sent twice, its marks stay for the reaper and its refund leaves a tombstone,
 * so that no copy of any write ever meets an item without marks of the request. A limit of 0 is decided
 * before `RESERVE`: `attribute_not_exists` would admit one request.
 */
export const RESERVE: ConditionalWrite = {
  update: 'SET #open = :mark, #lastUsed = :now ADD #minute :one, #period :one',
  condition: [
    'attribute_not_exists(#open)',
    'attribute_not_exists(#committed)',
    'attribute_not_exists(#tombstone)',
    '(attribute_not_exists(#keyEnd) OR #keyEnd > :now)',
    '(attribute_not_exists(#period) OR #period < :quota)',
    '(attribute_not_exists(#minute) OR #minute < :rpm)',
  ].join(' AND '),
};

export const COMMIT: ConditionalWrite = {
  update: 'SET #committed = #open REMOVE #open',
  condition: 'attribute_exists(#open)',
};

export const REFUND = {
  update: 'SET #tombstone = :mark REMOVE #open, #committed ADD #period :minusOne',
  condition: 'attribute_exists(#open) OR attribute_exists(#committed)',
} as const satisfies ConditionalWrite;

/**
 * Refunds a request of which no copy can be in flight. It leaves no tombstone, so no later cleanup is needed.
 * Also removes expired counters, given as placeholders.
 */
export const refundAndRemove = (placeholders: string[]): ConditionalWrite => ({
  update: `REMOVE ${['#open', '#committed', ...placeholders].join(', ')} ADD #period :minusOne`,
  condition: REFUND.condition,
});

/** Tombstones a request that is not reserved, so that a late reserve fails. */
export const TOMBSTONE: ConditionalWrite = {
  update: 'SET #tombstone = :mark',
  condition: 'attribute_not_exists(#open) AND attribute_not_exists(#committed)',
};

/**
 * Refunds all these units or none, and removes expired marks. Leaves no tombstones: every process that could
 * still write for these requests ended two minutes ago.
 */
export const reapAll = (units: StaleMarks['abandoned'], expired: string[]) => {
  const open = Object.fromEntries(units.map(({ requestId }, n) => [`#o${n}`, openName(requestId)]));
  const periods = [...new Set(units.map(({ period }) => period))];
  const removed = bindRemoved(expired);
  const added = periods.map((_, n) => `#p${n} :p${n}`).join(', ');
  const write: ConditionalWrite = {
    update: [
      `REMOVE ${[...Object.keys(open), ...Object.keys(removed)].join(', ')}`,
      ...(added ? [`ADD ${added}`] : []),
    ].join(' '),
    ...(units.length > 0 && {
      condition: Object.keys(open)
        .map((name) => `attribute_exists(${name})`)
        .join(' AND '),
    }),
  };
  const countIn = (period: string) => units.filter((unit) => unit.period === period).length;
  return {
    write,
    bindings: {
      names: {
        ...open,
        ...removed,
        ...Object.fromEntries(periods.map((period, n) => [`#p${n}`, periodName(period)])),
      },
      values: Object.fromEntries(periods.map((period, n) => [`:p${n}`, -countIn(period)])),
    },
  };
};

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

/** Attributes that one write removes at most; keeps the expression far below DynamoDB's 4 KB. */
const MAX_REMOVED = 40;

/** Bindings of a request's own writes. */
export const bindUnit = (unit: ReservedUnit) => ({
  names: {
    '#open': openName(unit.requestId),
    '#committed': committedName(unit.requestId),
    '#tombstone': tombstoneName(unit.requestId),
    '#minute': minuteName(unit.minute),
    '#period': periodName(unit.period),
  },
  values: { ':mark': markOf(unit), ':one': 1, ':minusOne': -1 },
});

/** Bindings of `RESERVE`. */
export const bindReservation = (reservation: Reservation) => {
  const { names, values } = bindUnit(reservation);
  const { keyId, now, quota, rpm } = reservation;
  return {
    names: { ...names, '#keyEnd': keyEndName(keyId), '#lastUsed': lastUsedName(keyId) },
    values: { ...values, ':now': now, ':quota': quota, ':rpm': rpm },
  };
};

/** Placeholders of the first 40 attributes, for a `REMOVE`. */
export const bindRemoved = (attributes: string[]): Record<string, string> =>
  Object.fromEntries(attributes.slice(0, MAX_REMOVED).map((name, index) => [`#a${index}`, name]));
