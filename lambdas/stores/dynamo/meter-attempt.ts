import { createLruCache } from '../../support/lru-cache.ts';
import {
  limitReached,
  type MeterStore,
  type Reservation,
  type ReservedUnit,
  type ReserveResult,
} from '../meter-store.ts';
import { StoreThrottled, StoreUnavailable } from '../store-unavailable.ts';
import { createGroups } from './meter-groups.ts';
import {
  countsIn,
  EPOCH,
  IN_FLIGHT,
  isFirstMark,
  itemKey,
  markName,
  numberIn,
  ownOutcomeIn,
  type PastCounters,
  pastCountersIn,
  withoutOthers,
} from './meter-item.ts';
import { reserveInShard } from './meter-shard-writes.ts';
import { budgetsIn, type Sharding } from './meter-shards.ts';
import { bindReservation, type ItemLimits, RESERVE, reserveAll } from './meter-writes.ts';
import type { Item, Table, WriteResult } from './table.ts';

/** Requests in flight in one process; the marks of an evicted one stay for the reaper. */
const MAX_ENTRIES = 10_000;

/** What this process remembers of a request until it is settled. */
export type LedgerEntry = {
  /** Key of the meter's item that holds its mark. */
  key: string;
  /** Its reserve was sent more than once or had no response, so a copy may still be applied. */
  mayBeDuplicated: boolean;
  /** Its reserve was applied or may be; otherwise there is no unit to settle. */
  mayHoldUnit: boolean;
  /** Counters of past windows, to be removed with its last write. */
  past: PastCounters | undefined;
};

/** Sends the reserves of requests and remembers which of them may be applied again later. */
export type WriteLedger = {
  entryOf(requestId: string): LedgerEntry | undefined;
  /** Without an entry a refund assumes that another process reserved the unit; a new entry holds none. */
  begin(requestId: string, key: string): LedgerEntry;
  /** Reserves in another item only after one was denied for good. @throws StoreUnavailable */
  reserve<Result extends WriteResult>(
    requestId: string,
    key: string,
    send: () => Promise<Result>,
  ): Promise<Result>;
  end(requestId: string): void;
};

/** Entries are kept in this process's memory only. */
export const createWriteLedger = (): WriteLedger => {
  const entries = createLruCache<LedgerEntry>(MAX_ENTRIES);

  const begin = (requestId: string, key: string): LedgerEntry => {
    const entry = entries.get(requestId) ?? {
      key,
      mayBeDuplicated: false,
      mayHoldUnit: false,
      past: undefined,
    };
    entries.set(requestId, entry);
    return entry;
  };

  return {
    entryOf: (requestId) => entries.get(requestId),
    begin,
    reserve: async (requestId, key, send) => {
      const entry = begin(requestId, key);
      // A reserve that another item denied leaves no mark there.
      entry.key = key;
      const mayHaveHeld = entry.mayHoldUnit;
      // Until the outcome is known: a refund may overtake this write.
      entry.mayHoldUnit = true;
      const remember = ({ applied, mayBeDuplicated }: Omit<WriteResult, 'item'>) => {
        entry.mayBeDuplicated ||= mayBeDuplicated;
        entry.mayHoldUnit = mayHaveHeld || applied || mayBeDuplicated;
      };
      try {
        const result = await send();
        remember(result);
        return result;
      } catch (error) {
        // A rejected write leaves no mark.
        const mayBeDuplicated = !(error instanceof StoreUnavailable) || error.mayBeApplied;
        remember({ applied: false, mayBeDuplicated });
        throw error;
      }
    },
    end: (requestId) => {
      entries.delete(requestId);
    },
  };
};

const MAX_METERS = 1_000;

/**
 * Requests whose writes were throttled, by meter, within a minute; one that is repeated counts once. The root's loans are
 * not among them: more shards would make it busier.
 */
export const createThrottles = ({ throttledToSpread }: Pick<Sharding, 'throttledToSpread'>) => {
  const meters = createLruCache<{ minute: number; requests: Set<string> }>(MAX_METERS);
  const note = ({ meterId, minute, requestId }: ReservedUnit): void => {
    const last = meters.get(meterId);
    // A unit is settled in a later minute than it was reserved in.
    const current = last && last.minute >= minute ? last : { minute, requests: new Set<string>() };
    if (current.requests.size < throttledToSpread) current.requests.add(requestId);
    meters.set(meterId, current);
  };
  return {
    count: async <Result>(unit: ReservedUnit, write: () => Promise<Result>): Promise<Result> => {
      try {
        return await write();
      } catch (error) {
        if (error instanceof StoreThrottled) note(unit);
        throw error;
      }
    },
    areMany: (meterId: string): boolean =>
      (meters.get(meterId)?.requests.size ?? 0) >= throttledToSpread,
    forget: (meterId: string): void => void meters.delete(meterId),
  };
};

export type Throttles = ReturnType<typeof createThrottles>;

/** Where a reservation is tried: the root of a meter that is not sharded, or a shard in an epoch. */
export type Place = { shard: number; epoch: number | undefined };
export const WHOLE_METER: Place = { shard: 0, epoch: undefined };

/** What one item decides about a reservation; if it is not final, the reservation is tried again, or elsewhere. */
export type Attempt = {
  item: Item | undefined;
  outcome:
    | ReserveResult['outcome']
    /** The meter was sharded, or has begun another epoch. */
    | 'other-epoch'
    /** As many requests are in flight as one item holds. */
    | 'full'
    /** A budget is used up. */
    | 'no-budget'
    /** The item that was read does not explain the denial any more. */
    | 'changed';
  /** A copy of the write may be applied later, so a tombstone is in its place. */
  isTombstoned: boolean;
};

const outcomeIn = (
  item: Item | undefined,
  reservation: Reservation,
  { shard, epoch }: Place,
  marksPerItem: number,
): Attempt['outcome'] => {
  const own = ownOutcomeIn(item, reservation);
  if (own) return own;
  if (item?.[EPOCH] !== epoch) return 'other-epoch';
  const limit = shard === 0 ? limitReached(countsIn(item, reservation), reservation) : undefined;
  if (limit) return limit;
  if (numberIn(item, IN_FLIGHT) >= marksPerItem) return 'full';
  return shard === 0 ? 'changed' : 'no-budget';
};

export type AttemptParts = {
  table: Table;
  ledger: WriteLedger;
  throttles: Throttles;
  refund: MeterStore['refund'];
  sharding: Pick<Sharding, 'marksPerItem' | 'writesInFlight'>;
};

/** What the counts of an item may reach, as this process knows it. */
const limitsIn = (
  item: Item | undefined,
  reservation: Reservation,
  { epoch }: Place,
  marksPerItem: number,
): ItemLimits => {
  const {
    rpm,
    quota,
    concurrency = marksPerItem,
  } = epoch === undefined ? reservation : budgetsIn(item, epoch, reservation);
  return { rpm, quota, concurrency: Math.min(concurrency, marksPerItem) };
};

type Try = { reservation: Reservation; place: Place };

const keyOf = ({ reservation, place }: Try): string => itemKey(reservation.meterId, place.shard);

/** Reservations that may be one write: of one item, key and window, under the same limits. */
const groupName = (one: Try): string => {
  const { keyId, minute, period, rpm, quota, concurrency } = one.reservation;
  const same = [one.place.epoch, keyId, minute, period, rpm, quota, concurrency];
  return [keyOf(one), ...same].join('|');
};

/** Sends reserves, several of one item as one write. */
const createSend = ({ table, sharding }: Pick<AttemptParts, 'table' | 'sharding'>) => {
  const { marksPerItem, writesInFlight } = sharding;

  const sendOne = (one: Try) => {
    const { reservation, place } = one;
    const { write, bindings } =
      place.epoch === undefined
        ? { write: RESERVE, bindings: bindReservation(reservation, marksPerItem) }
        : reserveInShard(reservation, place.epoch, marksPerItem);
    return table.apply(keyOf(one), write, bindings);
  };

  const sendAll = (tries: Try[], item: Item | undefined) => {
    const [first] = tries;
    const marks = new Set(tries.map(({ reservation }) => markName(reservation.requestId)));
    if (!first || marks.size < tries.length) return undefined;
    const { reservation, place } = first;
    const limits = limitsIn(item, reservation, place, marksPerItem);
    const { minuteCount, periodCount, inFlightCount } = countsIn(item, reservation);
    const room = Math.min(
      limits.rpm - minuteCount,
      limits.quota - periodCount,
      limits.concurrency - inFlightCount,
    );
    if (room < tries.length) return undefined;
    const { epoch } = place;
    const reservations = tries.map((one) => one.reservation);
    const { write, bindings } = reserveAll(reservations, reservation, { limits, epoch });
    return table.apply(keyOf(first), write, bindings);
  };

  const groups = createGroups({ writesInFlight, sendOne, sendAll });
  return (one: Try) => groups(groupName(one), one);
};

export const createTry = (parts: AttemptParts) => {
  const { table, ledger, throttles, refund, sharding } = parts;
  const { marksPerItem } = sharding;
  const send = createSend(parts);

  /** What this process has to remember until the request is settled. */
  const onAdmitted = (
    entry: LedgerEntry,
    { item, applied }: WriteResult,
    reservation: Reservation,
  ) => {
    const { requestId, now } = reservation;
    // The mark of a write that was not applied is that of a copy.
    entry.mayBeDuplicated ||= !applied;
    entry.mayHoldUnit = true;
    if (item && isFirstMark(item, requestId)) entry.past = pastCountersIn(item, now);
  };

  /** Tries a reservation in one item. */
  return async (reservation: Reservation, place: Place): Promise<Attempt> => {
    const { requestId } = reservation;
    const one = { reservation, place };
    const counted = () => throttles.count(reservation, () => send(one));
    const result = await ledger.reserve(requestId, keyOf(one), counted);
    const left = result.item ?? (await table.read(keyOf(one)));
    const { others } = result;
    const item = left && others > 0 ? withoutOthers(left, reservation, others) : left;
    const outcome = result.applied ? 'admitted' : outcomeIn(item, reservation, place, marksPerItem);
    const entry = ledger.entryOf(requestId);
    let isTombstoned = false;
    if (entry && outcome === 'admitted') onAdmitted(entry, { ...result, item }, reservation);
    else if (entry?.mayBeDuplicated && outcome !== 'changed') {
      // A late copy of the denied write could still be applied once a refund makes room.
      await refund(reservation);
      isTombstoned = true;
    }
    return { item, outcome, isTombstoned };
  };
};
