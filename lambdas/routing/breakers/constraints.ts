import type { Target } from '../../catalog/catalog.ts';
import type { BreakerState } from '../../stores/breaker-store.ts';
import {
  breakerNames,
  hasFailed,
  isShut,
  type LocalBreaker,
  type LocalBreakers,
  type Owner,
} from './local-breakers.ts';
import { denyTurn, isPaced, mayCall, noteCall, type Pace, startPacing } from './pace.ts';
import type { TripRule } from './trip-rules.ts';

/** What a call of one asker on one target must pass: a breaker that is open or half-open, or the pace after one. */
export type Constraint = {
  openUntil: number;
  /** Of the shared state, whose cause is not stored: unknown. */
  category: TripRule['category'] | undefined;
  pace: Pace;
  /** Whose turn the call would be: a key's within its project, a project's on the target; undefined for the key itself. */
  by: string | undefined;
};

type Parts = { local: LocalBreakers; credentialVersion: (target: Target) => string | undefined };

/** Lists the constraints, from the narrowest to the widest; usually none. `state` is that of the target. */
export const createConstraintsOf =
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
export const longest = (constraints: Constraint[]): Constraint | undefined =>
  constraints.toSorted((one, other) => other.openUntil - one.openUntil)[0];

/** Whether the call may pass now, at the pace of each; notes the denial otherwise. */
export const areMet = (constraints: Constraint[], now: number): boolean => {
  if (constraints.every(({ pace, by }) => mayCall(pace, by, now))) return true;
  for (const { pace, by } of constraints) denyTurn(pace.turns, by, now);
  return false;
};

export const countCall = (constraints: Constraint[], now: number): void => {
  for (const { pace, openUntil } of constraints) if (openUntil > 0) startPacing(pace, now);
  const owners = new Map(constraints.map(({ pace, by }) => [pace, by]));
  for (const [pace, by] of owners) noteCall(pace, by, now);
};
