import type { Reservation, ReserveResult } from '../../../lambdas/stores/meter-store.ts';
import { limitReached } from '../../../lambdas/stores/meter-store.ts';

/** `closed`: its reservation was never applied, and no late copy of it may be. */
type State = 'none' | 'open' | 'charged' | 'refunded' | 'reaped' | 'closed';
/** The states of all requests, by id. */
type World = ReadonlyMap<string, State>;

const MINUTE = 60_000;
const REAPED_AFTER = 17 * MINUTE;

/** What one write, or several of which at most one is applied, makes of a request. */
export type Effect = (world: World, r: Reservation) => State;

const stateIn = (world: World, { requestId }: Reservation): State => world.get(requestId) ?? 'none';

const settledAs =
  (next: State, unreserved: State): Effect =>
  (world, r) => {
    const state = stateIn(world, r);
    if (state === 'none') return unreserved;
    return state === 'open' ? next : state;
  };
export const charged = settledAs('charged', 'none');
export const refunded = settledAs('refunded', 'closed');

/**
 * All that a meter may contain after writes of which some have no response: each of them doubles the worlds, and what is
 * observed later leaves those that explain it. No world left: the meter counts what no history explains.
 */
export const createPossibilities = () => {
  let worlds: World[] = [new Map()];
  const reservations = new Map<string, Reservation>();
  const keyEnds = new Map<string, number>();
  /** Requests of which a write had no response: until it cannot be applied any more, a shard that is full denies them for good. */
  const unsure = new Set<string>();

  const keep = (next: World[]) => {
    const byText = new Map(next.map((world) => [[...world].toSorted().join(), world]));
    worlds = [...byText.values()];
  };

  const countsIn = (world: World, window: Pick<Reservation, 'minute' | 'period'>) => {
    const unitsIn = (...states: State[]) =>
      [...reservations.values()].filter((r) => states.includes(stateIn(world, r)));
    const ofPeriod = ({ period }: Reservation) => period === window.period;
    const admitted = unitsIn('open', 'charged', 'refunded', 'reaped');
    return {
      minuteCount: admitted.filter(({ minute }) => minute === window.minute).length,
      periodCount: unitsIn('open', 'charged').filter(ofPeriod).length,
      reservedCount: unitsIn('open').filter(ofPeriod).length,
      inFlightCount: unitsIn('open').length,
    };
  };

  const isKeyEnded = ({ keyId, now }: Pick<Reservation, 'keyId' | 'now'>) =>
    (keyEnds.get(keyId) ?? Number.POSITIVE_INFINITY) <= now;

  const outcomeIn = (world: World, r: Reservation): ReserveResult['outcome'] => {
    const state = stateIn(world, r);
    if (state !== 'none') return state === 'open' ? 'admitted' : 'too-late';
    if (isKeyEnded(r)) return 'key-ended';
    return limitReached(countsIn(world, r), r) ?? 'admitted';
  };

  const reserved: Effect = (world, r) =>
    outcomeIn(world, r) === 'admitted' ? 'open' : stateIn(world, r);

  const applied = (world: World, r: Reservation, effect: Effect): World =>
    new Map(world).set(r.requestId, effect(world, r));

  return {
    keyEnds,
    isKeyEnded,
    reserved,
    begin: (r: Reservation) => {
      reservations.set(r.requestId, r);
    },
    /** Each world in which the reservation has this outcome. A request that was denied is over. */
    see: (r: Reservation, outcome: ReserveResult['outcome']) => {
      const state = outcome === 'admitted' ? 'open' : 'closed';
      const isDenied = outcome === 'too-late' && unsure.has(r.requestId);
      const explains = (world: World) =>
        outcomeIn(world, r) === outcome || (isDenied && stateIn(world, r) === 'none');
      const agreeing = worlds.filter(explains);
      keep(
        agreeing.map((world) =>
          stateIn(world, r) === 'none' ? applied(world, r, () => state) : world,
        ),
      );
    },
    /** A write with a response. */
    apply: (r: Reservation, effect: Effect) => keep(worlds.map((w) => applied(w, r, effect))),
    /** A write that may be applied or not. */
    fork: (r: Reservation, effect: Effect) => {
      unsure.add(r.requestId);
      keep(worlds.flatMap((world) => [world, applied(world, r, effect)]));
    },
    /** How many units the reaper found. */
    seeReaped: (now: number, count: number) => {
      const isDead = (world: World) => (r: Reservation) =>
        stateIn(world, r) === 'open' && r.minute * MINUTE + REAPED_AFTER <= now;
      const deadIn = (world: World) => [...reservations.values()].filter(isDead(world));
      const agreeing = worlds.filter((world) => deadIn(world).length === count);
      keep(
        agreeing.map((world) =>
          deadIn(world).reduce((next, r) => applied(next, r, () => 'reaped'), world),
        ),
      );
    },
    /** The counts of each world. */
    counts: (window: Pick<Reservation, 'minute' | 'period'>) =>
      worlds.map((world) => countsIn(world, window)),
    seeCounts: (
      window: Pick<Reservation, 'minute' | 'period'>,
      isSeen: (counts: ReturnType<typeof countsIn>) => boolean,
    ) => keep(worlds.filter((world) => isSeen(countsIn(world, window)))),
  };
};
