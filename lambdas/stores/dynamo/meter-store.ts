import { createCountedMeters } from '#late/counted-meters';
import { createLeases } from '#late/leases';
import { createReap } from '#late/sharding';
import { HOUR_MS, MINUTE_MS } from '../../support/clock.ts';
import { atFirstCall } from '../../support/memo.ts';
import type { Lease } from '../budget-store.ts';
import type {
  EndedPeriod,
  MeterStore,
  RequestMeters,
  ReservedUnit,
  ReservedUnits,
} from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { CountedMeters, Verbs } from './budgets/counted-meters.ts';
import type { Leases } from './budgets/leases.ts';
import { expiring } from './item-write.ts';
import { createSettleGroups } from './meter-groups.ts';
import {
  endedPeriodsIn,
  itemKey,
  keyEndName,
  numberIn,
  ownCount,
  periodName,
  revokedAt,
} from './meter-item.ts';
import {
  createThrottles,
  createWriteLedger,
  type LedgerEntry,
  type Throttles,
  type WriteLedger,
} from './meter-ledger.ts';
import { findMark, isMarkOf, isOpenMark, markName, tombstoneOf } from './meter-marks.ts';
import { createReserve } from './meter-reserve.ts';
import { fixPeriod } from './meter-shard-writes.ts';
import {
  createReadAll,
  finalCountsIn,
  finalName,
  layoutIn,
  periodNamesIn,
  type ReadAll,
  SHARDING,
  type Sharding,
  snapshotOf,
} from './meter-shards.ts';
import { type SettleAs, settle, settleRepeated, tombstone } from './meter-writes.ts';
import { createTable, type Table, type TableOptions } from './table.ts';

/** Attempts of a verb while other writes change the item between its steps; then StoreUnavailable. */
const MAX_TRIES = 8;
/** Periods that one write forgets. */
const MAX_FORGOTTEN = 40;

/** Settles each unit once, also if copies of its writes are still in flight. */
const createSettle = (parts: {
  table: Table;
  ledger: WriteLedger;
  throttles: Throttles;
  sharding: Sharding;
  leases: () => Leases;
}): Pick<MeterStore, 'charge' | 'refund' | 'withdraw'> => {
  const { table, ledger, throttles, sharding, leases } = parts;
  const sendInGroup = createSettleGroups({ table, sharding });

  /** For a request whose reserve was sent once. Not applied means already settled or reaped. */
  const settleOnce = async (unit: ReservedUnit, as: SettleAs, entry: LedgerEntry) => {
    const { key, past } = entry;
    if (past) {
      // Not repeated with this part: another request may have raised the floor and removed the counters.
      entry.past = undefined;
      const { applied } = await table.apply(key, settle(unit, as, { past }));
      if (applied) return;
    }
    const { applied, mayBeDuplicated } = await sendInGroup(unit, key, as);
    // Either an earlier copy settled it, or another unit of its group was reaped.
    if (!applied && mayBeDuplicated) await table.apply(key, settle(unit, as));
  };

  const refundRepeated = async (unit: ReservedUnit, key: string): Promise<void> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (await table.applies(key, settleRepeated(unit, 'refund'))) return;
      const { applied, item } = await table.apply(key, tombstone(unit));
      if (applied) return;
      const mark = (item ?? (await table.read(key)))?.[markName(unit.requestId)];
      if (mark === tombstoneOf(unit)) return;
      // A late copy of the reserve was applied between the two writes.
    }
    throw new StoreUnavailable('Late copies of the reservation overtook the refund repeatedly.');
  };

  const settling =
    (as: SettleAs) =>
    async (unit: ReservedUnit): Promise<void> => {
      const entry = ledger.entryOf(unit.requestId);
      const { key, mayBeDuplicated } = entry ?? { key: unit.meterId, mayBeDuplicated: true };
      const sendOnce = (): Promise<unknown> => {
        if (entry && !mayBeDuplicated) return settleOnce(unit, as, entry);
        if (as !== 'charge') return refundRepeated(unit, key);
        return table.apply(key, settleRepeated(unit, as));
      };
      const { lease } = unit;
      const send = () =>
        lease?.isUncertain
          ? leases().settleUncertain({ ...unit, lease }, key, sendOnce)
          : sendOnce();
      // Otherwise its reserve was rejected: no unit is reserved, and no copy of it is in flight.
      if (!entry || entry.mayHoldUnit) {
        // What is in flight in the first item when its meter is sharded says nothing about the shards.
        await (key === unit.meterId ? send() : throttles.count(unit, send));
      }
      ledger.end(unit.requestId);
    };

  return { charge: settling('charge'), refund: settling('refund'), withdraw: settling('withdraw') };
};

/** Counts of ended periods, which the history moves. */
const createPeriods = (
  table: Table,
  readAll: ReadAll,
): Pick<MeterStore, 'endedPeriods' | 'forgetPeriods'> => {
  const endedPeriods: MeterStore['endedPeriods'] = async (meterId, now) => {
    const items = (await readAll(meterId)).map((item) => item ?? {});
    const finals = finalCountsIn(items[0]);
    const isFinal = ({ period }: EndedPeriod) => finals.some((final) => final.period === period);
    return [...finals, ...endedPeriodsIn(items, now).filter((ended) => !isFinal(ended))];
  };

  const remove = async (key: string, attributes: string[]): Promise<void> => {
    // A few at a time: an expression has at most 4 KB.
    for (let index = 0; index < attributes.length; index += MAX_FORGOTTEN) {
      const few = attributes.slice(index, index + MAX_FORGOTTEN);
      await table.apply(key, { remove: few });
    }
  };

  return {
    endedPeriods,
    forgetPeriods: async (meterId, periods) => {
      const [root, ...shards] = await readAll(meterId);
      const items = [root ?? {}, ...shards.map((item) => item ?? {})];
      if (shards.length > 0) {
        // A crash between two items must not change what is read next time.
        for (const period of periods) {
          const used = items.reduce((sum, item) => sum + ownCount(item, periodName(period)), 0);
          await table.apply(meterId, fixPeriod(period, used));
        }
      }
      for (const [shard, item] of [...items.entries()].toReversed()) {
        const names = periods.flatMap((period) => periodNamesIn(item, period));
        const fixed = shard === 0 && shards.length > 0 ? periods.map(finalName) : [];
        await remove(itemKey(meterId, shard), [...new Set([...names, ...fixed])]);
      }
    },
  };
};

/** Ends a key in the root first, then in all shards that are registered there (join in meter-bank.ts). */
const createEndKey = (table: Table) => async (meterId: string, keyId: string, end: number) => {
  const name = keyEndName(keyId);
  // The earliest end wins, so that a late copy of a rotation cannot undo a revocation.
  const endIn = (key: string, value: number) =>
    table.apply(key, { set: { [name]: value }, conditions: [[name, '> or absent', value]] });
  const result = await endIn(meterId, end);
  const root = result.item ?? (await table.read(meterId));
  // The root's end is the earliest.
  const earliest = Math.min(end, numberIn(root, name));
  const shards = layoutIn(root)?.shards ?? 0;
  for (let shard = 1; shard <= shards; shard += 1) await endIn(itemKey(meterId, shard), earliest);
};

type Options = TableOptions & { sharding?: Sharding };

/** Requests under budgets of users and sessions go through their meters, which are created for the first of them. */
const withCounted = (meters: Verbs, table: Table): Verbs => {
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

/** What requests need of the meters; the router's bundle has no other part of them. */
export const createDynamoRequestMeters = ({
  sharding = SHARDING,
  ...options
}: Options): RequestMeters & ReservedUnits => {
  // A repeat would add to the load that meter.ts sheds.
  const table = createTable({ ...options, throttledRepeats: 0 });
  const repeating = createTable(options);
  const ledger = createWriteLedger();
  const throttles = createThrottles(sharding);
  let created: Leases | undefined;
  const leases = (): Leases => {
    created ??= createLeases({
      ...{ table, ledger, budgets: repeating },
      marksPerItem: sharding.marksPerItem,
    });
    return created;
  };
  const settle = createSettle({ table, ledger, throttles, sharding, leases });
  const readAll = createReadAll(table);
  const parts = { table, ledger, throttles, readAll, refund: settle.refund, sharding, leases };
  const changeLease: RequestMeters['changeLease'] = (...change) => leases().changeLease(...change);
  const verbs = { ...createReserve(parts), ...settle, changeLease };

  return {
    ...withCounted(verbs, repeating),
    reap: atFirstCall(() => createReap(table, readAll)),
    isReserved: async (meterId, requestId) =>
      findMark(await readAll(meterId), requestId, isOpenMark) >= 0,
    readUsage: async ({ unit, ...query }) => {
      const items = await readAll(query.meterId);
      if (!unit) return snapshotOf(items, query);
      const shard = findMark(items, unit.requestId, (mark) => isMarkOf(mark, unit));
      const isUnitOpen = shard >= 0;
      if (isUnitOpen) ledger.found(unit.requestId, itemKey(query.meterId, shard));
      return { ...snapshotOf(items, query), isUnitOpen };
    },
    admitFree: async (meterId, minute, cap) => {
      if (cap < 1) return false;
      // A separate item per minute. A repeated write may count twice, which only lowers the limit.
      return repeating.applies(`${meterId}/free/${minute}`, {
        set: expiring(minute * MINUTE_MS + HOUR_MS),
        add: { count: 1 },
        conditions: [['count', '< or absent', cap]],
      });
    },
  };
};

/**
 * `MeterStore` on the meters table: one item per meter (layout: meter-item.ts), more if it is sharded
 * (meter-shards.ts), and one per minute of free calls. What each write guarantees is drawn in meter-writes.ts.
 */
export const createDynamoMeterStore = (options: Options): MeterStore & ReservedUnits => {
  const table = createTable(options);
  const endKey = createEndKey(table);
  return {
    ...createDynamoRequestMeters(options),
    ...createPeriods(table, createReadAll(table)),
    endKey,
    revokeKey: (meterId, keyId, now) => endKey(meterId, keyId, revokedAt(now)),
  };
};
