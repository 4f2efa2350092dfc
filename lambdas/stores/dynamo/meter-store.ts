import { TTL_ATTRIBUTE } from '../../tables.ts';
import type { MeterStore, Reservation, ReservedUnit, ReserveResult } from '../meter-store.ts';
import { StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import type { DynamoClient } from './dynamo-client.ts';
import {
  committedName,
  countsIn,
  expiredCounters,
  hasStaleMarks,
  hasUnitsInFlight,
  isKeyEnded,
  keyEndName,
  lastUsedName,
  numberIn,
  outcomeIn,
  revokedAt,
  staleMarksIn,
} from './meter-item.ts';
import {
  bindRemoved,
  bindReservation,
  bindUnit,
  COMMIT,
  COUNT_FREE,
  END_KEY,
  REFUND,
  RESERVE,
  reapAll,
  refundAndRemove,
  TOMBSTONE,
} from './meter-writes.ts';
import { createTable, type Item, type Table } from './table.ts';
import { createWriteLedger, type LedgerEntry, type WriteLedger } from './write-ledger.ts';

/** Attempts of a verb while other writes change the item between its steps; then StoreUnavailable. */
const MAX_TRIES = 8;
/** Units that one write reaps at most; keeps its condition below DynamoDB's 4 KB. */
const MAX_REAPED = 100;
const FREE_ITEM_LIFE_SECONDS = 3_600;

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
    const result = await ledger.apply(reservation, RESERVE, bindReservation(reservation));
    const item = result.item ?? (await table.read(reservation.meterId));
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation);
    if (!outcome) return undefined;
    if (outcome === 'admitted') {
      const entry = ledger.entryOf(reservation.requestId);
      if (entry && item) entry.expiredCounters = expiredCounters(item, reservation.now);
    }
    return {
      outcome,
      ...countsIn(item, reservation),
      hasStaleMarks: hasStaleMarks(item, reservation.now),
      hasUnitsInFlight: hasUnitsInFlight(item, reservation),
    };
  };

  /** Denies with one read and no write. */
  const deny = async (
    reservation: Reservation,
    outcomeOf: (item: Item | undefined) => ReserveResult['outcome'],
  ): Promise<ReserveResult> => {
    const item = await table.read(reservation.meterId);
    return {
      outcome: outcomeOf(item),
      ...countsIn(item, reservation),
      hasStaleMarks: false,
      hasUnitsInFlight: hasUnitsInFlight(item, reservation),
    };
  };

  const endDenied = async (reservation: Reservation): Promise<void> => {
    // A late copy of the denied write could still be applied once a refund makes room.
    if (ledger.entryOf(reservation.requestId)?.mayBeDuplicated !== false) await refund(reservation);
    ledger.end(reservation.requestId);
  };

  return async (reservation) => {
    const { requestId, quota, rpm } = reservation;
    if (ledger.entryOf(requestId)?.isRefunded) return deny(reservation, () => 'refunded');
    // A condition cannot distinguish a limit of 0 from an absent counter.
    if (quota < 1 || rpm < 1) {
      return deny(reservation, (item) => outcomeIn(item, reservation) ?? 'rate-limited');
    }
    ledger.begin(requestId);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const result = await tryReserve(reservation);
      if (!result) continue;
      if (result.outcome !== 'admitted') await endDenied(reservation);
      return result;
    }
    throw new StoreUnavailable('The meter changed faster than it could be read.');
  };
};

/** Refunds a unit so that no copy of its reserve can take it again. */
const createRefund = ({ apply, entryOf }: WriteLedger): MeterStore['refund'] => {
  /** For a request whose writes were each sent once. */
  const refundOnce = async (unit: ReservedUnit, entry: LedgerEntry): Promise<void> => {
    const { names, values } = bindUnit(unit);
    const removed = bindRemoved(entry.expiredCounters);
    const write = refundAndRemove(Object.keys(removed));
    // Not applied means already refunded or reaped.
    await apply(unit, write, { names: { ...names, ...removed }, values });
    entry.expiredCounters = [];
  };

  return async (unit) => {
    const entry = entryOf(unit.requestId);
    if (entry) entry.isRefunded = true;
    // Its reserve was refused: nothing was taken, and no copy of it is in flight.
    if (entry?.mayHoldUnit === false) return;
    if (entry?.mayBeDuplicated === false) return refundOnce(unit, entry);
    const bindings = bindUnit(unit);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if ((await apply(unit, REFUND, bindings)).applied) return;
      if ((await apply(unit, TOMBSTONE, bindings)).applied) return;
      // A late copy of the reserve was applied between the two writes.
    }
    throw new StoreUnavailable('Late copies of the reservation overtook the refund repeatedly.');
  };
};

/** Refunds all units of dead processes: one read, and one write for each hundred of them. */
const createReap =
  (table: Table): MeterStore['reap'] =>
  async (meterId, now) => {
    let refunded = 0;
    let item = await table.read(meterId);
    for (let tries = 0; item && tries < MAX_TRIES; tries += 1) {
      const { abandoned, expired } = staleMarksIn(item, now);
      if (abandoned.length + expired.length === 0) break;
      const units = abandoned.slice(0, MAX_REAPED);
      const { write, bindings } = reapAll(units, expired);
      const result = await table.apply(meterId, write, bindings);
      // A repeat whose first copy was applied finds no marks.
      if (result.applied || result.mayBeDuplicated) refunded += units.length;
      // Not applied: another process reaped some of them, or one was committed after all.
      item = result.applied ? result.item : await table.read(meterId);
    }
    return refunded;
  };

/** Removes the marks of finished requests: `close` its own, `reap` those of dead processes. */
const createCleanup = (table: Table, ledger: WriteLedger): Pick<MeterStore, 'close' | 'reap'> => {
  const remove = async (meterId: string, attributes: string[]): Promise<void> => {
    if (attributes.length === 0) return;
    const names = bindRemoved(attributes);
    await table.apply(meterId, { update: `REMOVE ${Object.keys(names).join(', ')}` }, { names });
  };

  const marksToRemove = (requestId: string, entry: LedgerEntry | undefined): string[] => {
    const isLast = entry?.mayBeDuplicated === false && entry.mayHoldUnit && !entry.isRefunded;
    return isLast ? [committedName(requestId)] : [];
  };

  return {
    close: async ({ meterId, requestId }) => {
      const entry = ledger.entryOf(requestId);
      const attributes = [...marksToRemove(requestId, entry), ...(entry?.expiredCounters ?? [])];
      try {
        await remove(meterId, attributes);
      } catch (error) {
        // Refused, so its caller may repeat it and needs the entry then.
        if (error instanceof StoreThrottled && !error.mayBeApplied) throw error;
        ledger.end(requestId);
        throw error;
      }
      ledger.end(requestId);
    },
    reap: createReap(table),
  };
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
  const refund = createRefund(ledger);

  return {
    reserve: createReserve({ table, ledger, refund }),
    refund,
    ...createCleanup(table, ledger),
    commit: async (unit) => {
      const { applied, item: before } = await ledger.apply(unit, COMMIT, bindUnit(unit));
      if (applied) return true;
      const item = before ?? (await table.read(unit.meterId));
      return item !== undefined && committedName(unit.requestId) in item;
    },
    readUsage: async (query) => {
      const item = await table.read(query.meterId);
      return {
        ...countsIn(item, query),
        isKeyEnded: isKeyEnded(item, query),
        lastUsedAt: numberIn(item, lastUsedName(query.keyId)) || undefined,
        hasStaleMarks: hasStaleMarks(item, query.now),
        hasUnitsInFlight: hasUnitsInFlight(item, query),
      };
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
