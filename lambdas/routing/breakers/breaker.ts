import { denyTurn, mayCall, noteCall, startPacing } from '#late/failures';
import { nameOf, type Target } from '../../catalog/catalog.ts';
import type { BreakerState, BreakerStore } from '../../stores/notes.ts';
import type { Clock } from '../../support/clock.ts';
import type { RandomBytes } from '../../support/ids.ts';
import type { Log } from '../../support/log.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { OpenBreaker } from './attempt.ts';
import { isUnsteady } from './evidence.ts';
import { createPermits, type Permit } from './permit.ts';
import {
  type Asker,
  breakerNames,
  createLocalBreakers,
  createSharedStates,
  FRESH_MS,
  hasFailed,
  isPaced,
  isShut,
  type LocalBreaker,
  type LocalBreakers,
  type Owner,
  type Pace,
  takeTurn,
} from './states.ts';
import type { TripRule } from './trip-rules.ts';

/** What a call of one asker on one target must pass: a breaker that is open or half-open, or the pace after one. */
type Constraint = {
  openUntil: number;
  /** Of the shared state, whose cause is not stored: unknown. */
  category: TripRule['category'] | undefined;
  pace: Pace;
  /** Whose turn the call would be: a key's within its project, a project's on the target; undefined for the key itself. */
  by: string | undefined;
};

type Parts = { local: LocalBreakers; credentialVersion: (target: Target) => string | undefined };

/** Lists the constraints, from the narrowest to the widest; usually none. `state` is that of the target. */
const createConstraintsOf =
  ({ local, credentialVersion }: Parts) =>
  (target: Target, owner: Owner, state: BreakerState | undefined, now: number): Constraint[] => {
    const health = local.healthOf(target);
    const { pace } = health;
    const onTarget = { pace, by: owner.projectId };
    const constraints: Constraint[] = [];
    const add = (
      name: string,
      limitOf: (breaker: LocalBreaker) => Pick<Constraint, 'pace' | 'by'>,
    ) => {
      const breaker = local.find(name);
      if (!breaker || !isShut(breaker, now)) return;
      const { openUntil, category } = breaker;
      constraints.push({ openUntil, category, ...limitOf(breaker) });
    };
    if (hasFailed(health, now)) {
      add(breakerNames.key(target, owner), (breaker) => ({ pace: breaker.pace, by: undefined }));
      add(breakerNames.project(target, owner), ({ pace: ofProject }) => ({
        pace: ofProject,
        by: owner.keyId,
      }));
      add(breakerNames.credential(target, credentialVersion(target)), () => onTarget);
      add(breakerNames.connection(target), () => onTarget);
    }
    if (state && isShut(state, now)) {
      constraints.push({ openUntil: state.openUntil, category: undefined, ...onTarget });
    } else if (isPaced(pace, now)) {
      constraints.push({ openUntil: 0, category: undefined, ...onTarget });
    }
    return constraints;
  };

/** The constraint that stays closed for longest. */
const longest = (constraints: Constraint[]): Constraint | undefined =>
  constraints.toSorted((one, other) => other.openUntil - one.openUntil)[0];

/** Whether the call may pass now, at the pace of each; notes the denial otherwise. */
const areMet = (constraints: Constraint[], now: number): boolean => {
  if (constraints.every(({ pace, by }) => mayCall(pace, by, now))) return true;
  for (const { pace, by } of constraints) denyTurn(pace.turns, by, now);
  return false;
};

const countCall = (constraints: Constraint[], now: number): void => {
  for (const { pace, openUntil } of constraints) if (openUntil > 0) startPacing(pace, now);
  const owners = new Map(constraints.map(({ pace, by }) => [pace, by]));
  for (const [pace, by] of owners) noteCall(pace, by, now);
};

type Acquired = { isOpen: false; permit: Permit } | ({ isOpen: true } & OpenBreaker);

/**
 * Keeps requests away from targets that fail. What one request can cause counts for its key, then for its project, then
 * for the target, and passes a level only if several of it fail and none succeeds. The breaker of a target is shared by
 * all environments and written only at a transition; those of keys, projects, credentials and connections are local.
 * Recovery depends on success, not on time: while all targets of a model are open, one request a second is sent, and
 * the first content closes the breaker for all. It is an optimisation: where its store fails, the shared one is closed.
 */
export type Breaker = {
  /** Starts to read the states of `targets`, so that they are read before they are needed. */
  prefetch(targets: Target[]): void;
  /** The targets, those last of which half of the recent calls failed. */
  order(targets: Target[]): Target[];
  acquire(target: Target, asker: Asker): Promise<Acquired>;
  /** Whether the target must not be called now. Takes no probe: for calls that tell nothing about its health. */
  isOpen(target: Target, owner: Owner): Promise<boolean>;
  /** Returns one of a model's targets, whose breakers are all open, about once a second; else undefined. */
  acquireLast(open: OpenBreaker[], asker: Asker): { target: Target; permit: Permit } | undefined;
};

/** Until the next call through an open breaker. */
const TURN_MS = 1_000;

export const createBreaker = (parts: {
  store: BreakerStore;
  upstream: Pick<Upstream, 'credentialVersion'>;
  clock: Clock;
  randomBytes: RandomBytes;
  log: Log;
}): Breaker => {
  const { clock, upstream } = parts;
  const states = createSharedStates(parts);
  const local = createLocalBreakers();
  const permitFor = createPermits({ ...parts, states, local });
  const constraintsOf = createConstraintsOf({
    local,
    credentialVersion: upstream.credentialVersion,
  });

  const openAmong = (constraints: Constraint[], now: number): Constraint | undefined => {
    const constraint = longest(constraints);
    return constraint && constraint.openUntil > now ? constraint : undefined;
  };

  const permitCall = (
    target: Target,
    asker: Asker,
    { constraints, isProbe, now }: { constraints: Constraint[]; isProbe: boolean; now: number },
  ): Permit => {
    countCall(constraints, now);
    takeTurn(local.healthOf(target).pace.turns, asker.projectId, now);
    return permitFor(target, asker, { isProbe, isConstrained: constraints.length > 0 });
  };

  const acquire = async (target: Target, asker: Asker): Promise<Acquired> => {
    const name = nameOf(target);
    const state = await states.read(name);
    const now = clock.now();
    const constraints = constraintsOf(target, asker, state, now);
    const denied = (waitMs: number, { category }: Partial<Constraint> = {}): Acquired => ({
      ...{ isOpen: true, target, waitMs, category },
    });
    const open = openAmong(constraints, now);
    if (open) return denied(open.openUntil - now, open);
    if (!areMet(constraints, now)) return denied(TURN_MS, longest(constraints));
    const isProbe = state !== undefined && isShut(state, now);
    if (isProbe && !(await states.takeProbe(name))) return denied(FRESH_MS);
    return { isOpen: false, permit: permitCall(target, asker, { constraints, isProbe, now }) };
  };

  const isOpen = async (target: Target, owner: Owner): Promise<boolean> => {
    const state = await states.read(nameOf(target));
    const now = clock.now();
    return openAmong(constraintsOf(target, owner, state, now), now) !== undefined;
  };

  const acquireLast: Breaker['acquireLast'] = (open, asker) => {
    const now = clock.now();
    const lastCall = ({ target }: OpenBreaker) => local.healthOf(target).pace.turns.at;
    // The target that was called longest ago: each may be the first to be repaired.
    for (const { target } of open.toSorted((one, other) => lastCall(one) - lastCall(other))) {
      const constraints = constraintsOf(target, asker, states.known(nameOf(target)), now);
      if (!areMet(constraints, now)) continue;
      return { target, permit: permitCall(target, asker, { constraints, isProbe: false, now }) };
    }
    return undefined;
  };

  return {
    prefetch: (targets) => {
      for (const target of targets) void states.read(nameOf(target));
    },
    order: (targets) => {
      if (targets.length === 1) return targets;
      const now = clock.now();
      const isLast = (target: Target) => {
        const health = local.healthOf(target);
        return hasFailed(health, now) && isUnsteady(health.recent, now);
      };
      return targets.toSorted((one, other) => Number(isLast(one)) - Number(isLast(other)));
    },
    acquire,
    isOpen,
    acquireLast,
  };
};
