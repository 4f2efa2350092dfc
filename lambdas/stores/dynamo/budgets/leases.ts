import { createLruCache } from '../../../support/memo.ts';
import { type BudgetRefusal, type BudgetView, type Lease, leaseAfter } from '../../budget-store.ts';
import type { LeasedUnit, RequestMeters, Reservation } from '../../meter-store.ts';
import { StoreUnavailable } from '../../store-unavailable.ts';

import { IN_FLIGHT, numberIn } from '../meter-item.ts';
import type { WriteLedger } from '../meter-ledger.ts';
import { isMarkOf, leasedIn, leasedMarkOf, markName } from '../meter-marks.ts';
import type { Item, Table } from '../table.ts';
import { createBudgetBank } from './bank.ts';
import { pastNamesIn, receivedName, roomName } from './items.ts';
import type { Borrower } from './transfers.ts';
import { changingLease, type Grants } from './writes.ts';

const MAX_TRIES = 16;
const MAX_ITEMS = 1_000;
/** Leases for which an item has room that is not scarce any more. */
const PLENTY = 4;

/** Of the least lease: a larger one that is in no request's way. */
const LITTLE_MORE = 1.25;

/** What a write of the item needs for a lease that it has no room for. */
export type LeaseParts = { grants: Grants; past: string[] };
/** Or the item as it is now, if it has received something; or why there is no room. */
export type Found = LeaseParts | { item: Item | undefined } | { refusal: BudgetRefusal };

/** Whether a budget has too little room in the item for so many nanos more, also with what the write was to receive. */
export const isLacking = (item: Item | undefined, { holds, nanos }: Lease, grants: Grants = []) =>
  holds.some((hold, index) => {
    const { seen, to } = grants[index] ?? { seen: 0, to: 0 };
    // Another request has received it.
    const isPast = to > seen && numberIn(item, receivedName(hold)) !== seen;
    return isPast || numberIn(item, roomName(hold)) + to - seen < nanos;
  });

/** What is asked for where there is no plenty. */
export const leastOf = ({ nanos, range }: Lease): number => range?.least ?? nanos;

/** The leases of requests in the items of their meters. */
export const createLeases = ({
  table,
  ledger,
  budgets,
  marksPerItem,
}: {
  table: Table;
  ledger: Pick<WriteLedger, 'entryOf'>;
  budgets: Table;
  marksPerItem: number;
}) => {
  /** Items as this process saw them last. One that had too little room for a lease is scarce until it has plenty. */
  const seen = createLruCache<{ room: number; isScarce: boolean; isFull: boolean }>(MAX_ITEMS);
  const noteRoom = (key: string, item: Item | undefined, { holds, nanos }: Lease): void => {
    const room = Math.min(...holds.map((hold) => numberIn(item, roomName(hold))));
    const wasScarce = seen.get(key)?.isScarce ?? true;
    const isScarce = room < (wasScarce ? PLENTY : 1) * nanos;
    seen.set(key, { room, isScarce, isFull: numberIn(item, IN_FLIGHT) >= marksPerItem });
  };
  const bank = createBudgetBank(budgets, ({ key, room, inFlight }) => {
    const isScarce = seen.get(key)?.isScarce ?? true;
    seen.set(key, { room, isScarce, isFull: inFlight >= marksPerItem });
  });

  /** Room in an item for so many nanos more of each budget. */
  const makeRoom = async (
    lease: Lease,
    borrower: Borrower,
    { needed, now, isMovable }: { needed: number; now: number; isMovable?: boolean | undefined },
  ): Promise<Found> => {
    const grants: Grants = [];
    for (const [index, hold] of lease.holds.entries()) {
      if (numberIn(borrower.item, roomName(hold)) >= needed) continue;
      const room = await bank.makeRoom({
        ...{ hold, borrower, needed, now, marksPerItem },
        // Where a shard has room of one budget, it may have none of another.
        isMovable: isMovable && lease.holds.length === 1,
      });
      if (room === 'gone') {
        lease.holds = lease.holds.filter((other) => other !== hold);
        return makeRoom(lease, borrower, { needed, now, isMovable });
      }
      if (!('grant' in room)) return room;
      grants[index] = room.grant;
    }
    const isNew = lease.holds.some((hold) => numberIn(borrower.item, receivedName(hold)) === 0);
    return { grants, past: isNew ? pastNamesIn(borrower.item, now) : [] };
  };

  /** What the mark of a unit has leased; undefined if the unit is settled. */
  const leasedBy = (item: Item | undefined, unit: LeasedUnit): number | undefined => {
    const mark = item?.[markName(unit.requestId)];
    return isMarkOf(mark, unit) ? leasedIn(mark) : undefined;
  };

  /** Sends one change of a lease; the item, unless it was applied. */
  const send = async (
    unit: LeasedUnit,
    key: string,
    change: { to: number; taken: number; grants: Grants },
  ): Promise<{ item: Item | undefined } | undefined> => {
    const { lease, requestId } = unit;
    const wasUncertain = lease.isUncertain === true;
    // Until its outcome is known.
    lease.isUncertain = true;
    const result = await table.apply(key, changingLease(unit, change));
    lease.isUncertain = wasUncertain || result.mayBeDuplicated;
    const item = result.item ?? (result.applied ? undefined : await table.read(key));
    const isChanged = item?.[markName(requestId)] === leasedMarkOf(unit, { nanos: change.to });
    if (!result.applied && !isChanged) return { item };
    lease.replaced = [...(lease.replaced ?? []), lease.nanos];
    lease.nanos = change.to;
    return undefined;
  };

  const sendFirst: typeof send = async (unit, key, change) =>
    change.taken > 0 && seen.get(key)?.isScarce
      ? { item: await table.read(key) }
      : send(unit, key, change);

  /** Changes the lease to `to`, and takes so many nanos for that; a nano more if it was `to` before. */
  const change = async (
    unit: LeasedUnit,
    { now, ...wanted }: { to: number; taken: number; now: number },
  ): Promise<BudgetRefusal | undefined> => {
    const { lease } = unit;
    const to = leaseAfter(lease, wanted.to);
    const taken = wanted.taken + to - wanted.to;
    const key = ledger.entryOf(unit.requestId)?.key ?? unit.meterId;
    let found = await sendFirst(unit, key, { to, taken, grants: [] });
    for (let tries = 0; found && tries < MAX_TRIES; tries += 1) {
      // The unit was reaped, or a late write has changed the lease.
      if (leasedBy(found.item, unit) !== lease.nanos) break;
      const room = await makeRoom(lease, { key, ...found }, { needed: taken, now });
      if ('refusal' in room) return room.refusal;
      const grants = 'grants' in room ? room.grants : [];
      found = await send(unit, key, { to, taken, grants });
    }
    if (!found) return undefined;
    throw new StoreUnavailable('The lease was changed by another write.');
  };

  /** Whether budgets have so much left that no request is in the way of another. */
  const isFar = ({ holds, nanos, range }: Lease): boolean =>
    holds.every((hold) => bank.isFar(hold, range?.ample ?? nanos));

  return {
    makeRoom,
    /** Undefined: this process has not seen the item. */
    isScarce: (key: string): boolean | undefined => seen.get(key)?.isScarce,
    /** Whether a write may find too little room in the item, which other processes use as well. */
    isShort: (key: string, lease: Lease): boolean | undefined => {
      const known = seen.get(key);
      const enough = (isFar(lease) ? 1 : PLENTY) * lease.nanos;
      if (known) return known.isScarce || known.isFull || known.room < enough;
      return lease.holds.some((hold) => bank.isUnlent(hold, key)) || undefined;
    },
    /** What a request leases when it is admitted. */
    sizeOf: (lease: Lease): number =>
      lease.range && isFar(lease) ? lease.range.ample : leastOf(lease),
    /** The same for one that has seen the item: what is little more than the least spares it a slice. */
    sizeIn: (item: Item | undefined, lease: Lease): number => {
      const { least = lease.nanos, ample = lease.nanos } = lease.range ?? {};
      const isLittle = ample <= LITTLE_MORE * least;
      return isLittle && !isLacking(item, { ...lease, nanos: ample }) ? ample : lease.nanos;
    },
    /** The one of some items with the most room for a lease. */
    roomiest: (keys: string[], { nanos }: Lease): string | undefined =>
      keys
        .filter((key) => !seen.get(key)?.isFull && (seen.get(key)?.room ?? 0) >= nanos)
        .toSorted((one, other) => (seen.get(other)?.room ?? 0) - (seen.get(one)?.room ?? 0))[0],
    noteRoom,
    /** Reads what callers are shown of their budgets. */
    refresh: ({ holds }: Lease, now: number) =>
      Promise.all(holds.map((hold) => bank.refresh(hold, now))),
    viewsOf: ({ holds }: Lease, item: Item | undefined): BudgetView[] =>
      holds.flatMap((hold) => bank.viewOf(hold, item) ?? []),
    /**
     * The unit was reserved by an earlier process, or by an earlier copy of the write. What a process that died has leased is
     * spent, and another lease is taken.
     */
    adopt: async (
      unit: LeasedUnit & Reservation,
      { item, mayBeDuplicated }: { item: Item | undefined; mayBeDuplicated: boolean },
    ): Promise<BudgetRefusal | undefined> => {
      const { lease } = unit;
      const leased = leasedBy(item, unit) ?? lease.nanos;
      const isSent = [lease.nanos, lease.range?.least, lease.range?.ample].includes(leased);
      if (isSent && (mayBeDuplicated || !unit.isRepeat)) {
        lease.nanos = leased;
        return undefined;
      }
      // Late copies of its changes of the lease name the value that they replace, which most likely is this request's.
      const wanted = lease.nanos + (leased === lease.nanos + 1 ? 2 : 1);
      lease.nanos = leased;
      const refusal = await change(unit, { to: wanted, taken: wanted, now: unit.now });
      if (refusal) lease.spent = leased;
      return refusal;
    },
    /** Runs a settlement until the unit is settled, whichever of its leases the item has. */
    settleUncertain: async (unit: LeasedUnit, key: string, settle: () => Promise<unknown>) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const leased = leasedBy(await table.read(key), unit);
        if (leased !== undefined) unit.lease.nanos = leased;
        else if (tries > 0) return;
        await settle();
      }
      throw new StoreUnavailable('The lease changed faster than it could be read.');
    },
    changeLease: ((unit, nanos, now) =>
      change(unit, {
        to: nanos,
        taken: nanos - unit.lease.nanos,
        now,
      })) satisfies RequestMeters['changeLease'],
  };
};

export type Leases = ReturnType<typeof createLeases>;
