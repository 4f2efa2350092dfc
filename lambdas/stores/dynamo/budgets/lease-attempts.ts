import type { BudgetRefusal, Lease } from '../../budget-store.ts';
import type { LeasedUnit, Reservation, ReserveResult } from '../../meter-store.ts';
import { itemKey } from '../meter-item.ts';
import type { Place } from '../meter-shards.ts';
import type { Item, WriteResult } from '../table.ts';
import { isLacking, type LeaseParts, type Leases, leastOf } from './leases.ts';
import type { Borrower } from './transfers.ts';

/** Of one budget: the end of its last turn, and the last refusals by item. */
type Queue = {
  last: Promise<unknown>;
  waiting: number;
  refused: Map<string, { refusal: BudgetRefusal; since: number }>;
};

/** With as many in front of it, a request would wait for more than a second where a call to a table takes 20 ms. */
const CROWD = 64;

/** The widest budget of a request, which most others are under, too. */
const nameOf = ({ holds: [hold] }: Lease): string => (hold ? `${hold.budget}|${hold.label}` : '');

/**
 * Requests of a process that find no room in their items look for it one after another: each moves dollars between the same
 * items, and would be in the way of the others. One that was refused while others waited answers those of them that need as
 * much for the same item. In a crowd the last refusal of the item answers at once: its caller repeats a 429 after a second.
 */
export const createTurns = () => {
  const queues = new Map<string, Queue>();
  let count = 0;

  /** `hasWaited`: the item may have changed since. */
  return async <Found extends { refusal?: BudgetRefusal | undefined }>(
    lease: Lease,
    { key, needed }: { key: string; needed: number },
    seek: (hasWaited: boolean) => Promise<Found>,
  ): Promise<Found | { refusal: BudgetRefusal }> => {
    const name = nameOf(lease);
    const queue = queues.get(name) ?? { last: Promise.resolve(), waiting: 0, refused: new Map() };
    queues.set(name, queue);
    const last = queue.refused.get(key)?.refusal;
    if (queue.waiting >= CROWD && last && last.needed <= needed) {
      return { refusal: { ...last, needed } };
    }
    count += 1;
    const arrival = count;
    const hasWaited = queue.waiting > 0;
    const ahead = queue.last;
    const take = async () => {
      await ahead.catch(() => undefined);
      const known = queue.refused.get(key);
      if (known && known.since > arrival && known.refusal.needed <= needed) {
        return { refusal: { ...known.refusal, needed } };
      }
      count += 1;
      const since = count;
      const found = await seek(hasWaited);
      if (found.refusal?.kind === 'in-flight') {
        queue.refused.set(key, { refusal: found.refusal, since });
      }
      return found;
    };
    const turn = take();
    queue.last = turn;
    queue.waiting += 1;
    try {
      return await turn;
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(name);
    }
  };
};

/** What one item decides about a reservation; if it is not final, the reservation is tried again, or elsewhere. */
export type AttemptOutcome =
  | ReserveResult['outcome']
  /** The meter was sharded, or has begun another epoch. */
  | 'other-epoch'
  /** As many requests are in flight as one item holds. */
  | 'full'
  /** A budget is used up. */
  | 'no-budget'
  /** The item that was read does not explain the denial any more. */
  | 'changed';

export type Tried = {
  item: Item | undefined;
  result: Omit<WriteResult, 'item'>;
  outcome: AttemptOutcome;
  refusal?: BudgetRefusal | undefined;
};

/** What came of a reservation in one item. */
export type Attempt = {
  item: Item | undefined;
  outcome: AttemptOutcome;
  budgets: Pick<ReserveResult, 'refusal' | 'budgets'> | undefined;
  /** A copy of the write may be applied later, so a tombstone is in its place. */
  isTombstoned: boolean;
};

type LeasedReservation = LeasedUnit & Reservation;

const UNSENT: Tried = {
  item: undefined,
  result: { applied: false, mayBeDuplicated: false },
  outcome: 'changed',
};

/** Attempts of a lease while other requests take the room that was made for it. */
const MAX_TRIES = 16;

/** Whether a reservation was denied because the item has too little room for its lease. */
const lacksRoom = ({ outcome, item }: Tried, lease: Lease, grants?: LeaseParts['grants']) =>
  (outcome === 'changed' || outcome === 'no-budget') && isLacking(item, lease, grants);

/** Whether the item explains why no lease is admitted there. */
const isDenied = ({ outcome }: Tried): boolean => outcome !== 'changed' && outcome !== 'admitted';

/** Tries reservations that lease dollars, until the budgets have granted the item what it lacks, or one of them does not. */
export const createLeaseAttempts = (parts: {
  leases: Leases;
  /** What the item explains of a reservation that is not sent. */
  look(reservation: Reservation, place: Place): Promise<Tried>;
  /** One write. */
  trySend(reservation: Reservation, place: Place, more?: LeaseParts): Promise<Tried>;
}) => {
  const { leases, look, trySend } = parts;
  const inTurn = createTurns();

  /** Room for the lease of a request, or for the least; undefined: the item has it. */
  const roomFor = async (unit: LeasedReservation, borrower: Borrower) => {
    const { lease, now } = unit;
    lease.nanos = leases.sizeIn(borrower.item, lease);
    const { nanos: needed } = lease;
    if (!isLacking(borrower.item, lease)) return undefined;
    const options = { needed, now, isMovable: !unit.isRepeat };
    const found = await leases.makeRoom(lease, borrower, options);
    if (!('refusal' in found) || needed === leastOf(lease)) return found;
    lease.nanos = leastOf(lease);
    return roomFor(unit, borrower);
  };

  const seekRoom = async (unit: LeasedReservation, place: Place, key: string, seen: Tried) => {
    const { lease } = unit;
    let tried = seen;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const found = await roomFor(unit, { key, item: tried.item });
      if (found && 'refusal' in found) return { ...tried, refusal: found.refusal };
      if (found && 'item' in found) {
        tried = { ...tried, item: found.item };
        continue;
      }
      tried = await trySend(unit, place, found);
      if (!lacksRoom(tried, lease, found?.grants)) return tried;
    }
    return tried;
  };

  /** What is tried at once; undefined: the item is looked at in turn. */
  const begin = (unit: LeasedReservation, place: Place, looksFirst: boolean) => {
    if (!looksFirst) return trySend(unit, place);
    // The first look takes no longer than the one at its budgets.
    return leases.isScarce(itemKey(unit.meterId, place.shard)) === undefined
      ? look(unit, place)
      : undefined;
  };

  /** One write, or where room is scarce a look before it, each request after the one before it. */
  return async (unit: LeasedReservation, place: Place): Promise<Tried> => {
    const { lease } = unit;
    const key = itemKey(unit.meterId, place.shard);
    if (!unit.isRepeat) lease.nanos = leases.sizeOf(lease);
    const looksFirst = (leases.isShort(key, lease) ?? place.shard > 0) && !unit.isRepeat;
    const [first] = await Promise.all([
      begin(unit, place, looksFirst),
      leases.refresh(lease, unit.now),
    ]);
    let tried = first ?? UNSENT;
    if (looksFirst || lacksRoom(tried, lease)) {
      const found = await inTurn(lease, { key, needed: leastOf(lease) }, async (hasWaited) => {
        const seen = (!hasWaited && first) || (await look(unit, place));
        const isSent = !looksFirst && !hasWaited;
        return !isSent && isDenied(seen) ? seen : seekRoom(unit, place, key, seen);
      });
      tried = { ...tried, ...found };
    }
    leases.noteRoom(key, tried.item, lease);
    const isAdopted = tried.outcome === 'admitted' && !tried.result.applied;
    return isAdopted
      ? { ...tried, refusal: await leases.adopt(unit, { ...tried.result, item: tried.item }) }
      : tried;
  };
};
