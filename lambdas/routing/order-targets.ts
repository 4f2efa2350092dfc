import { hash } from 'node:crypto';
import { accountOf } from '../catalog/account.ts';
import type { Target } from '../catalog/catalog.ts';
import { originOf } from '../protocols/thinking/origin.ts';
import type { Choice } from '../stores/record-store.ts';
import { oncePer } from '../support/once-per.ts';

/**
 * Whose cache a target fills: the account's, of one model. Targets of one account are equal for a session, and stay in the
 * order of the catalog.
 */
const cacheOf = oncePer(
  new WeakMap<Target, string>(),
  (target) => `${accountOf(target)} ${target.model}`,
);

/** Bits of a number that JavaScript holds exactly. */
const BITS = 48;

/** Uniform in (0, 1), the same for the same names on every machine. */
const drawOf = (session: string, name: string): number =>
  (Number.parseInt(hash('sha256', `${session}\n${name}`).slice(0, BITS / 4), 16) + 0.5) / 2 ** BITS;

/** Rendezvous hashing: of many sessions each target is first for its share of the weights. */
const scoreOf = (session: string, target: Target): number =>
  -(target.weight ?? 1) / Math.log(drawOf(session, cacheOf(target)));

/**
 * The targets in the order in which a session tries them, without any state. The one that served its latest turn comes
 * first, where the history tells it: its cache holds the prefix, and its thinking is valid nowhere else. Then lower tiers
 * come first, and those of one tier in an order of the session's own: a target that is added or removed moves no session but
 * its own. Targets without a tier stay in the order of the catalog.
 */
export const orderTargets = (
  targets: Target[],
  { session, origin }: { session(): string; origin(): string | undefined },
): Target[] => {
  if (targets.length === 1) return targets;
  const latest = origin();
  const ranked = targets.map((target, index) => ({
    target,
    isLatest: originOf(target) === latest,
    tier: target.tier ?? index,
    score: target.tier === undefined ? 0 : scoreOf(session(), target),
  }));
  return ranked
    .toSorted(
      (one, other) =>
        Number(other.isLatest) - Number(one.isLatest) ||
        one.tier - other.tier ||
        other.score - one.score,
    )
    .map(({ target }) => target);
};

const tierIn = (catalog: Target[], target: Target): number =>
  target.tier ?? catalog.indexOf(target);

/** Why a target of several was called last; `targets` are those of the request, in its order. */
export const choiceOf = (target: Target, targets: Target[], catalog: Target[]): Choice => {
  if (target !== targets[0]) return 'failover';
  if (targets.length === 1) return 'only';
  if (isSecondChoice(target, targets, catalog)) return 'session';
  return target.tier === undefined ? 'order' : 'tier';
};

/**
 * Whether a request is served by another target than it would be if all worked: not by the one that it tried first, or by
 * one to which its session failed over earlier. `catalog` are all targets of the model.
 */
export const isSecondChoice = (target: Target, targets: Target[], catalog: Target[]): boolean => {
  const tier = tierIn(catalog, target);
  return target !== targets[0] || targets.some((other) => tierIn(catalog, other) < tier);
};
