import {
  type BudgetRefusal,
  type BudgetView,
  type Counter,
  type Hold,
  type Lease,
  leaseAfter,
} from '../../budget-store.ts';
import type {
  LeasedUnit,
  RequestMeters,
  Reservation,
  ReservedUnit,
  ReserveResult,
} from '../../meter-store.ts';
import { StoreUnavailable } from '../../store-unavailable.ts';
import type { Table } from '../table.ts';
import { isOpen, MARK, nanosIn, tombstoneOf } from './counter-items.ts';
import { createCounters, type Leaser, MAX_TRIES } from './counters.ts';
import { lentName } from './items.ts';

/** No mark is this. */
const ABSENT = '';
/** Ends the leases of the budgets of users and sessions. */
const createCounterSettlement = (table: Table) => {
  /** One write that ends a mark; undefined: it is ended, else what it is or, if a copy may be applied later, that it is absent. */
  const end = async (
    { budget, hold, past, isUncertain }: Counter & { hold: Hold },
    { requestId, minute }: Leaser,
    { before, spent }: { before: string; spent: number },
  ): Promise<string | undefined> => {
    const name = MARK + requestId;
    const { applied, item } = await table.apply(budget, {
      ...(isUncertain ? { set: { [name]: tombstoneOf(minute) } } : { remove: [name, ...past] }),
      add: { [lentName(hold)]: spent - nanosIn(before) },
      conditions: [[name, '=', before]],
    });
    const mark = applied ? undefined : (item ?? (await table.read(budget)))?.[name];
    if (isOpen(mark)) return mark;
    return applied || mark !== undefined || !isUncertain ? undefined : ABSENT;
  };

  /** Leaves no way for a copy of a lease that is still in flight; whether there was none. */
  const bury = async ({ budget }: Counter, { requestId, minute }: Leaser): Promise<boolean> => {
    const name = MARK + requestId;
    return table.applies(budget, {
      set: { [name]: tombstoneOf(minute) },
      conditions: [[name, 'is absent']],
    });
  };

  /** Leaves what a request has cost; a copy of an earlier write changes nothing after it. Idempotent. */
  return async (counter: Counter, leaser: Leaser, spent: number): Promise<void> => {
    const { hold, isUncertain } = counter;
    let before = counter.mark ?? ABSENT;
    if (!hold || (before === ABSENT && !isUncertain)) return;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const left = await end({ ...counter, hold }, leaser, { before, spent });
      const isEnded = left === undefined || (left === ABSENT && (await bury(counter, leaser)));
      if (isEnded) return;
      before = left;
    }
    throw new StoreUnavailable('The budget changed faster than it could be read.');
  };
};

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
