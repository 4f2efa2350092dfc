import type { Caller } from '../keys/authenticate.ts';
import {
  limitReached,
  type MeterCounts,
  type MeterStore,
  type RequestMeters,
  type Reservation,
  type ReserveResult,
} from '../stores/meter-store.ts';
import { LONGEST_READ_MS, StoreThrottled } from '../stores/store-unavailable.ts';
import { type Clock, MINUTE_MS } from '../support/clock.ts';
import { createLruCache } from '../support/memo.ts';

/** A cached limit error is repeated without a read for this long, so that a 402 takes precedence soon. */
const FRESH_MS = 1_000;
const MAX_METERS = 1_000;

type Counts = MeterCounts & { isKeyEnded: boolean };

export type LimitExceeded = MeterCounts &
  Pick<ReserveResult, 'refusal' | 'floor'> & {
    outcome: Exclude<ReserveResult['outcome'], 'admitted'>;
  };

/**
 * One cached limit error. `scope` is the limits, minute and period that it is valid for; `isReading` while
 * `counts` is a read in flight.
 */
type Entry = { scope: string; checkedAt: number; counts: Promise<Counts>; isReading: boolean };

const scopeOf = ({ minute, period, rpm, quota, concurrency }: Reservation): string =>
  [minute, period, rpm, quota, concurrency].join('|');

const exceededIn = (counts: Counts, reservation: Reservation): LimitExceeded | undefined => {
  const outcome = counts.isKeyEnded ? 'key-ended' : limitReached(counts, reservation);
  return outcome && { ...counts, outcome };
};

export type LimitCache = {
  /** The limit error that a reserve would get, found without a write. @throws StoreUnavailable */
  find(reservation: Reservation): Promise<LimitExceeded | undefined>;
  set(reservation: Reservation, exceeded: LimitExceeded): void;
  /** After a refund: the next `find` reads the table first. */
  invalidate(reservation: Pick<Reservation, 'meterId' | 'keyId'>): void;
};

/**
 * Caches limit errors per key, so that a flood of denied calls costs one write a minute and one read a second,
 * or one read after another while a unit in flight may make room.
 * A full minute stays full, but the quota may run out within it (through an environment whose clock is ahead,
 * or a lowered plan), and then 402 takes precedence: hence the read.
 */
export const createLimitCache = (store: Pick<MeterStore, 'readUsage'>): LimitCache => {
  const entries = createLruCache<Entry>(MAX_METERS);
  const keyOf = ({ meterId, keyId }: { meterId: string; keyId: string }) => `${meterId}|${keyId}`;

  /** Requests in flight may end; a full minute, a used quota and an ended key stay as they are. */
  const mayHaveRoom = async ({ counts }: Entry, reservation: Reservation): Promise<boolean> => {
    const outcome = exceededIn(await counts, reservation)?.outcome;
    return outcome === 'quota-reserved' || outcome === 'concurrency-reached';
  };

  const refresh = async (entry: Entry, reservation: Reservation): Promise<Entry> => {
    const isFresh = reservation.now - entry.checkedAt < FRESH_MS;
    if (isFresh && (entry.isReading || !(await mayHaveRoom(entry, reservation)))) return entry;
    // Concurrent requests share one read, but none that the platform may have frozen.
    const current = entries.get(keyOf(reservation));
    const isShared = current?.isReading && current.scope === entry.scope;
    if (isShared && reservation.now - current.checkedAt < LONGEST_READ_MS) return current;
    const counts = store.readUsage(reservation);
    const renewed = { ...entry, checkedAt: reservation.now, counts, isReading: true };
    entries.set(keyOf(reservation), renewed);
    const onEnd = () => {
      renewed.isReading = false;
    };
    counts.then(onEnd, onEnd);
    return renewed;
  };

  const remove = (reservation: Reservation) => entries.delete(keyOf(reservation));

  return {
    find: async (reservation) => {
      const entry = entries.get(keyOf(reservation));
      if (!entry || entry.scope !== scopeOf(reservation)) return undefined;
      try {
        const exceeded = exceededIn(await (await refresh(entry, reservation)).counts, reservation);
        if (!exceeded) remove(reservation);
        return exceeded;
      } catch (error) {
        remove(reservation);
        throw error;
      }
    },
    set: (reservation, exceeded) => {
      const { outcome } = exceeded;
      // Another request may need less of a budget.
      if (outcome === 'too-late' || outcome === 'over-budget') return;
      entries.set(keyOf(reservation), {
        scope: scopeOf(reservation),
        checkedAt: reservation.now,
        counts: Promise.resolve({ ...exceeded, isKeyEnded: outcome === 'key-ended' }),
        isReading: false,
      });
    },
    invalidate: (unit) => {
      const entry = entries.get(keyOf(unit));
      if (!entry) return;
      const checkedAt = Number.NEGATIVE_INFINITY;
      entries.set(keyOf(unit), { ...entry, checkedAt, isReading: false });
    },
  };
};

/** What must be left of every limit, in units and as a share of it: other environments use the meter too. */
const MIN_LEFT = 20;
const MIN_SHARE_LEFT = 0.25;
/** An environment that was idle may have missed more: the next two constants bound what that costs. */
const LOOK_LIFE_MS = 10 * MINUTE_MS;
/**
 * Requests of one meter and environment at their provider before their unit is reserved. All of them may be denied, and
 * after the first that is, none follows for a minute: four environments send at most 16 more requests than are admitted.
 */
const MAX_EARLY = 4;
/** The same while other environments cannot have used what is left, so that none of them is denied. */
const MAX_EARLY_OF_PLENTY = 50;
/** Requests that other environments admit at most: three that have nothing else to do. */
const ADMITTED_ELSEWHERE_PER_MS = 3;
/** A reservation lasts at most so long: a few writes, one after another, to tables far away. */
const RESERVATION_MS = 500;
const WAIT_AFTER_DENIAL_MS = MINUTE_MS;

export type RoomEstimate = {
  /** Counts a reservation as in flight; true if its request may be at its provider before the outcome. */
  enter(caller: Caller): boolean;
  /** Call at the end of that reservation, with what `enter` returned. */
  leave(caller: Caller, isEarly: boolean): void;
  /** Call with the counts that a reservation of the caller returned. */
  saw(caller: Caller, counts: MeterCounts): void;
  /** Call when a reservation was denied, withdrawn or failed. */
  denied(caller: Caller): void;
};

const isRoomy = (limit: number, count: number): boolean =>
  limit - count >= Math.max(MIN_LEFT, MIN_SHARE_LEFT * limit);

/** What an environment saw of a meter last. */
type Look = { seenAt: number; counts: MeterCounts };
/** Reservations of a meter in flight; `early` ones have their request at a provider. */
type InFlight = { reserving: number; early: number };

/**
 * Estimates whether a reservation would almost certainly be admitted, by what this environment saw of the meter within
 * ten minutes and by its reservations in flight. The count of the minute is that of the last look even if a new minute
 * has begun: a key that nearly fills one minute may fill the next.
 */
export const createRoomEstimate = ({ clock }: { clock: Clock }): RoomEstimate => {
  const looks = createLruCache<Look>(MAX_METERS);
  const deniedAt = createLruCache<number>(MAX_METERS);
  /** By meter; as many entries as meters with reservations in flight. */
  const inFlight = new Map<string, InFlight>();

  const hasRoom = ({ meterId, plan }: Caller, { reserving, early }: InFlight): boolean => {
    const look = looks.get(meterId);
    if (!look || early >= MAX_EARLY_OF_PLENTY) return false;
    const now = clock.now();
    const age = now - look.seenAt;
    if (age >= LOOK_LIFE_MS) return false;
    if (now - (deniedAt.get(meterId) ?? Number.NEGATIVE_INFINITY) < WAIT_AFTER_DENIAL_MS)
      return false;
    const elsewhere = early < MAX_EARLY ? 0 : ADMITTED_ELSEWHERE_PER_MS * (age + RESERVATION_MS);
    const more = reserving + elsewhere;
    const { minuteCount, periodCount, inFlightCount } = look.counts;
    return (
      isRoomy(plan.rpm, minuteCount + more) &&
      isRoomy(plan.quota, periodCount + more) &&
      (plan.concurrency === undefined || isRoomy(plan.concurrency, inFlightCount + more))
    );
  };

  return {
    enter: (caller) => {
      const { meterId } = caller;
      const current = inFlight.get(meterId) ?? { reserving: 0, early: 0 };
      inFlight.set(meterId, current);
      const isEarly = hasRoom(caller, current);
      current.reserving += 1;
      if (isEarly) current.early += 1;
      return isEarly;
    },
    leave: ({ meterId }, isEarly) => {
      const current = inFlight.get(meterId);
      if (!current) return;
      current.reserving -= 1;
      if (isEarly) current.early -= 1;
      if (current.reserving === 0) inFlight.delete(meterId);
    },
    saw: ({ meterId }, counts) => looks.set(meterId, { seenAt: clock.now(), counts }),
    denied: ({ meterId }) => deniedAt.set(meterId, clock.now()),
  };
};

/** How long reservations of a throttled meter are held back, in ms; doubled while it stays throttled. */
const MIN_HOLD_MS = 100;
const MAX_HOLD_MS = 1_000;

/**
 * Sheds overload before the table. DynamoDB limits the writes of one item; once it throttles a reservation, this
 * environment sends no other one of that meter for a moment, so that the writes of admitted requests get
 * through; `assertNotHeld` throws StoreThrottled until then. Otherwise the marks of requests that wait for their writes
 * would make the item larger, and each write more expensive.
 */
export const shedOverload = ({ store, clock }: { store: RequestMeters; clock: Clock }) => {
  const holds = createLruCache<{ until: number; ms: number }>(MAX_METERS);

  const hold = (meterId: string): void => {
    const now = clock.now();
    const last = holds.get(meterId);
    if (last && now < last.until) return;
    const isSoon = last !== undefined && now - last.until < last.ms;
    const ms = isSoon ? Math.min(2 * last.ms, MAX_HOLD_MS) : MIN_HOLD_MS;
    holds.set(meterId, { until: now + ms, ms });
  };

  const send = async <Value>(meterId: string, verb: () => Promise<Value>): Promise<Value> => {
    try {
      return await verb();
    } catch (error) {
      if (error instanceof StoreThrottled) hold(meterId);
      throw error;
    }
  };

  const shed: Pick<RequestMeters, 'reserve' | 'reserveUnconfirmed' | 'reap'> = {
    reserve: (reservation) => send(reservation.meterId, () => store.reserve(reservation)),
    reserveUnconfirmed: (reservation) =>
      send(reservation.meterId, () => store.reserveUnconfirmed(reservation)),
    reap: (meterId, now) => send(meterId, () => store.reap(meterId, now)),
  };
  return {
    shed,
    assertNotHeld: (meterId: string): void => {
      if (clock.now() >= (holds.get(meterId)?.until ?? 0)) return;
      throw new StoreThrottled('The meter was throttled a moment ago.', { mayBeApplied: false });
    },
  };
};
