import { createCountedMeters } from '#late/counted-meters';
import type { Lease } from '../../budget-store.ts';
import type { ReservedUnit } from '../../meter-store.ts';
import type { Table } from '../table.ts';
import type { CountedMeters, Verbs } from './counted-meters.ts';

/** Requests under budgets of users and sessions go through their meters, which are created for the first of them. */
export const withCounted = (meters: Verbs, table: Table): Verbs => {
  let created: CountedMeters | undefined;
  const counted = (): CountedMeters => {
    created ??= createCountedMeters(meters, table);
    return created;
  };
  const isCounted = <Unit extends ReservedUnit>(unit: Unit): unit is Unit & { lease: Lease } =>
    unit.lease?.counters !== undefined;
  const settle = (verb: 'charge' | 'refund' | 'withdraw') => (unit: ReservedUnit) =>
    isCounted(unit) ? counted()[verb](unit) : meters[verb](unit);
  return {
    reserve: (one) => (isCounted(one) ? counted().reserve(one) : meters.reserve(one)),
    reserveUnconfirmed: (one) =>
      isCounted(one) ? counted().reserveUnconfirmed(one) : meters.reserveUnconfirmed(one),
    changeLease: (unit, ...change) =>
      (isCounted(unit) ? counted() : meters).changeLease(unit, ...change),
    charge: settle('charge'),
    refund: settle('refund'),
    withdraw: settle('withdraw'),
  };
};
