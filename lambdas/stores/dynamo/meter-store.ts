import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { MeterStore, Reservation, ReservedUnit, ReserveResult } from '../meter-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { DynamoClient } from './dynamo-client.ts';
import {
  countsIn,
  endedPeriodsIn,
  hasStaleMarks,
  isFirstMark,
  isKeyEnded,
  keyEndName,
  lastUsedName,
  numberIn,
  outcomeIn,
  pastCountersIn,
  periodName,
  revokedAt,
  staleMarksIn,
} from './meter-item.ts';
import {
  bindRemoved,
  bindUnit,
  CHARGE,
  CHARGE_DUPLICATED,
  COUNT_FREE,
  createWriteLedger,
  END_KEY,
  type LedgerEntry,
  REFUND,
  REFUND_DUPLICATED,
  reapAll,
  removingPast,
  TOMBSTONE,
  type WriteLedger,
} from './meter-writes.ts';
import { type ConditionalWrite, createTable, type Table } from './table.ts';

/** Attempts of a verb while other writes change the item between its steps; then StoreUnavailable. */
const MAX_TRIES = 8;
/** Units that one write reaps at most, and marks that it removes; keeps its condition below DynamoDB's 4 KB. */
const MAX_REAPED = 100;
const MAX_EXPIRED = 40;
const FREE_ITEM_LIFE_SECONDS = 3_600;
/** Periods that one write forgets. */
const MAX_FORGOTTEN = 40;

/** Reserves a unit of the minute and of the period in one conditional write, or reads why it was denied. */
const createReserve = ({
  table,
  ledger,
  refund,
}: {
  table: Table;
  ledger: WriteLedger;
  refund: MeterStore['refund'];
}): MeterStore['reserve'] => {
  /** Undefined: the item that was read no longer explains the denial, so the write is tried again. */
  const tryReserve = async (reservation: Reservation): Promise<ReserveResult | undefined> => {
    const { meterId, requestId, now } = reservation;
    const result = await ledger.reserve(reservation);
    const item = result.item ?? (await table.read(meterId));
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation);
    if (!outcome) return undefined;
    const entry = ledger.entryOf(requestId);
    if (outcome === 'admitted' && entry) {
      // The mark of a write that was not applied is that of a copy.
      entry.mayBeDuplicated ||= !result.applied;
      entry.mayHoldUnit = true;
      if (item && isFirstMark(item, requestId)) entry.past = pastCountersIn(item, now);
    }
    return { outcome, ...countsIn(item, reservation), hasStaleMarks: hasStaleMarks(item, now) };
  };

  /** A limit of 0, which a condition cannot distinguish from an absent counter: one read and no write. */
  const denyByRead = async (reservation: Reservation): Promise<ReserveResult> => {
    const item = await table.read(reservation.meterId);
    const outcome = outcomeIn(item, reservation) ?? 'rate-limited';
    return { outcome, ...countsIn(item, reservation), hasStaleMarks: false };
  };

  const endDenied = async (reservation: Reservation): Promise<void> => {
    const entry = ledger.entryOf(reservation.requestId);
    // A late copy of the denied write could still be applied once a refund makes room.
    if (entry?.mayBeDuplicated) await refund(reservation);
    ledger.end(reservation.requestId);
  };

  return async (reservation) => {
    if (reservation.quota < 1 || reservation.rpm < 1) return denyByRead(reservation);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const result = await tryReserve(reservation);
      if (!result) continue;
      if (result.outcome !== 'admitted') await endDenied(reservation);
      return result;
    }
    throw new StoreUnavailable('The meter changed faster than it could be read.');
  };
};

/** Settles each unit once, also if copies of its writes are still in flight. */
const createSettle = (table: Table, ledger: WriteLedger): Pick<MeterStore, 'charge' | 'refund'> => {
  /** For a request whose reserve was sent once. Not applied means already settled or reaped. */
  const settleOnce = async (unit: ReservedUnit, write: ConditionalWrite, entry: LedgerEntry) => {
    const bindings = bindUnit(unit);
    if (entry.past) {
      const larger = removingPast(write, bindings, entry.past);
      // Not repeated with this part: another request may have raised the floor and removed the counters.
      entry.past = undefined;
      const { applied } = await table.apply(unit.meterId, larger.write, larger.bindings);
      if (applied) return;
    }
    await table.apply(unit.meterId, write, bindings);
  };

  const refundDuplicated = async (unit: ReservedUnit): Promise<void> => {
    const bindings = bindUnit(unit);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if ((await table.apply(unit.meterId, REFUND_DUPLICATED, bindings)).applied) return;
      const { applied, item } = await table.apply(unit.meterId, TOMBSTONE, bindings);
      if (applied) return;
      const mark = (item ?? (await table.read(unit.meterId)))?.[bindings.names['#mark']];
      if (mark === bindings.values[':tombstone']) return;
      // A late copy of the reserve was applied between the two writes.
    }
    throw new StoreUnavailable('Late copies of the reservation overtook the refund repeatedly.');
  };

  const settle = async (
    unit: ReservedUnit,
    write: ConditionalWrite,
    settleDuplicated: () => Promise<unknown>,
  ): Promise<void> => {
    const entry = ledger.entryOf(unit.requestId);
    // Otherwise its reserve was rejected: no unit is reserved, and no copy of it is in flight.
    if (!entry || entry.mayHoldUnit) {
      if (!entry || entry.mayBeDuplicated) await settleDuplicated();
      else await settleOnce(unit, write, entry);
    }
    ledger.end(unit.requestId);
  };

  return {
    charge: (unit) =>
      settle(unit, CHARGE, () => table.apply(unit.meterId, CHARGE_DUPLICATED, bindUnit(unit))),
    refund: (unit) => settle(unit, REFUND, () => refundDuplicated(unit)),
  };
};

/** Refunds all units of dead processes: one read, and one write for each hundred of them. */
const createReap =
  (table: Table): MeterStore['reap'] =>
  async (meterId, now) => {
    let refunded = 0;
    let item = await table.read(meterId);
    for (let tries = 0; item && tries < MAX_TRIES; tries += 1) {
      const stale = staleMarksIn(item, now);
      const abandoned = stale.abandoned.slice(0, MAX_REAPED);
      const expired = stale.expired.slice(0, MAX_EXPIRED);
      if (abandoned.length + expired.length === 0) break;
      const { write, bindings } = reapAll({ ...stale, abandoned, expired });
      const result = await table.apply(meterId, write, bindings);
      // A repeat whose first copy was applied finds no marks.
      if (result.applied || result.mayBeDuplicated) refunded += abandoned.length;
      // Not applied: another process reaped some of them, or one was settled after all.
      item = result.applied ? result.item : await table.read(meterId);
    }
    return refunded;
  };

/**
 * `MeterStore` on the meters table: one item per meter (layout: meter-item.ts) and one per minute of free
 * calls. What each write guarantees is drawn in meter-writes.ts.
 */
export const createDynamoMeterStore = (deps: {
  client: DynamoClient;
  tableName: string;
}): MeterStore => {
  const table = createTable(deps);
  const ledger = createWriteLedger(table);
  const settle = createSettle(table, ledger);

  return {
    reserve: createReserve({ table, ledger, refund: settle.refund }),
    ...settle,
    reap: createReap(table),
    readUsage: async (query) => {
      const item = await table.read(query.meterId);
      return {
        ...countsIn(item, query),
        isKeyEnded: isKeyEnded(item, query),
        lastUsedAt: numberIn(item, lastUsedName(query.keyId)) || undefined,
        hasStaleMarks: hasStaleMarks(item, query.now),
      };
    },
    endedPeriods: async (meterId, now) => endedPeriodsIn((await table.read(meterId)) ?? {}, now),
    forgetPeriods: async (meterId, periods) => {
      // A few at a time: an expression has at most 4 KB.
      for (let index = 0; index < periods.length; index += MAX_FORGOTTEN) {
        const names = bindRemoved(periods.slice(index, index + MAX_FORGOTTEN).map(periodName));
        await table.apply(
          meterId,
          { update: `REMOVE ${Object.keys(names).join(', ')}` },
          { names },
        );
      }
    },
    endKey: async (meterId, keyId, validUntil) => {
      await table.apply(meterId, END_KEY, {
        names: { '#keyEnd': keyEndName(keyId) },
        values: { ':end': validUntil },
      });
    },
    revokeKey: async (meterId, keyId, now) => {
      await table.apply(meterId, END_KEY, {
        names: { '#keyEnd': keyEndName(keyId) },
        values: { ':end': revokedAt(now) },
      });
    },
    admitFree: async (meterId, minute, cap) => {
      if (cap < 1) return false;
      const { applied } = await table.apply(`${meterId}/free/${minute}`, COUNT_FREE, {
        names: { '#count': 'count', '#ttl': TTL_ATTRIBUTE },
        values: { ':one': 1, ':cap': cap, ':ttl': minute * 60 + FREE_ITEM_LIFE_SECONDS },
      });
      return applied;
    },
  };
};
