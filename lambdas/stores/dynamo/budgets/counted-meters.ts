import { type BudgetRefusal, type BudgetView, type Lease, leaseAfter } from '../../budget-store.ts';
import type {
  LeasedUnit,
  RequestMeters,
  Reservation,
  ReservedUnit,
  ReserveResult,
} from '../../meter-store.ts';
import type { Table } from '../table.ts';
import { createCounterSettlement } from './counter-settlement.ts';
import { createCounters } from './counters.ts';

export type Verbs = Pick<
  RequestMeters,
  'reserve' | 'reserveUnconfirmed' | 'changeLease' | 'charge' | 'refund' | 'withdraw'
>;
type Leasing = Reservation & { lease: Lease };
type Leased = { refusal: BudgetRefusal | undefined; views: BudgetView[] };

/** As the item of a meter knows it: without a lease if no budget has room there. */
const inMeter = <Unit extends ReservedUnit>(unit: Unit, { holds }: Lease): Unit =>
  holds.length > 0 ? unit : { ...unit, lease: undefined };

/** @throws what it was rejected with: the meter refunds what may be reserved */
const resultOf = <Value>(outcome: PromiseSettledResult<Value>): Value => {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
};

/**
 * The meters, for requests under budgets of users and sessions. Their writes travel next to those of the meter, so that a
 * request waits for none of them longer than for its unit. A separate file in the bundle, since few stages have such budgets.
 */
export const createCountedMeters = (meters: Verbs, table: Table) => {
  const counters = createCounters(table);
  const settle = createCounterSettlement(table);
  const leaseAll = async (
    unit: ReservedUnit & { isRepeat?: boolean },
    { counters: all = [] }: Lease,
    amount: { to: number; now: number },
  ): Promise<Leased> => {
    const found = await Promise.all(all.map((counter) => counters.lease(counter, unit, amount)));
    const views: BudgetView[] = [];
    let refusal: BudgetRefusal | undefined;
    for (const one of found) {
      if (one && 'kind' in one) refusal ??= one;
      else if (one) views.push(one);
    }
    return { refusal, views };
  };

  const settleAll = (unit: ReservedUnit, { counters: all = [] }: Lease, spent: number) =>
    Promise.all(all.map((counter) => settle(counter, unit, spent)));

  /** Both or neither. */
  const reserving =
    <Result extends ReserveResult | undefined>(send: (unit: Reservation) => Promise<Result>) =>
    async (reservation: Leasing): Promise<Result | ReserveResult> => {
      const { lease, now } = reservation;
      const unit = inMeter(reservation, lease);
      const { nanos } = lease;
      const [reserved, leased] = await Promise.allSettled([
        send(unit),
        leaseAll(reservation, lease, { to: nanos, now }),
      ]);
      const result = resultOf(reserved);
      const first = resultOf(leased);
      // The lease of a repeat is a nano or two more than that of the process that died.
      const isMore = lease.nanos > nanos && result?.outcome === 'admitted' && !first.refusal;
      const { refusal, views } = isMore
        ? await leaseAll(reservation, lease, { to: lease.nanos, now })
        : first;
      if (result?.outcome !== 'admitted') {
        await settleAll(reservation, lease, 0);
        return result;
      }
      if (!refusal) return { ...result, budgets: [...(result.budgets ?? []), ...views] };
      await meters.withdraw(unit);
      await settleAll(reservation, lease, 0);
      return { ...result, outcome: 'over-budget', refusal };
    };

  const settling =
    (verb: (unit: ReservedUnit) => Promise<void>) =>
    async (unit: LeasedUnit): Promise<void> => {
      const { lease } = unit;
      await Promise.all([verb(inMeter(unit, lease)), settleAll(unit, lease, lease.spent)]);
    };

  /** Of all budgets or of none. */
  const changeLease = async (unit: LeasedUnit, nanos: number, now: number) => {
    const { lease } = unit;
    const before = lease.nanos;
    const to = leaseAfter(lease, nanos);
    const leased = { ...lease, counters: lease.counters?.filter(({ mark }) => mark !== undefined) };
    const { refusal } = await leaseAll(unit, leased, { to, now });
    const hasRooms = lease.holds.length > 0;
    const denied = refusal ?? (hasRooms ? await meters.changeLease(unit, to, now) : undefined);
    if (denied) await leaseAll(unit, leased, { to: before, now });
    else if (!hasRooms) lease.nanos = to;
    return denied;
  };

  return {
    reserve: reserving(meters.reserve),
    reserveUnconfirmed: reserving(meters.reserveUnconfirmed),
    changeLease,
    charge: settling(meters.charge),
    refund: settling(meters.refund),
    withdraw: settling(meters.withdraw),
  };
};

export type CountedMeters = ReturnType<typeof createCountedMeters>;
