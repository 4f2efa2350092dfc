import { hash } from 'node:crypto';
import { accountOf } from '../catalog/account.ts';
import { nameOf, type Target } from '../catalog/catalog.ts';
import { originOf } from '../protocols/thinking/origin.ts';
import type { Choice } from '../stores/record-store.ts';
import { oncePer } from '../support/memo.ts';
import type { Preferred } from './preference.ts';

/**
 * Whose cache a target fills: the account's, of one model. Targets of one account are equal for a session, and stay in the
 * order of the catalog.
 */
const cacheOf = oncePer(
  new WeakMap<Target, string>(),
  (target) => `${accountOf(target)} ${target.model}`,
);

const BITS = 48;

/** Uniform in (0, 1), the same for the same names on every machine. */
const drawOf = (session: string, name: string): number =>
  (Number.parseInt(hash('sha256', `${session}\n${name}`).slice(0, BITS / 4), 16) + 0.5) / 2 ** BITS;

/** Rendezvous hashing: of many sessions each target is first for its share of the weights. */
const scoreOf = (session: string, target: Target): number =>
  -(target.weight ?? 1) / Math.log(drawOf(session, cacheOf(target)));

type Ranked = { target: Target; tier: number; rank: number; score: number };

const byTier = (one: Ranked, other: Ranked): number =>
  one.tier - other.tier || one.rank - other.rank || other.score - one.score;

const whyFirst = ([first, ...others]: Ranked[], by: Preferred['by'] = 'speed'): Choice => {
  if (!first || others.length === 0) return 'only';
  if (first.target.tier === undefined) return 'order';
  const rivals = others.filter(({ tier }) => tier === first.tier);
  if (rivals.some(({ rank }) => rank !== first.rank)) return by;
  return rivals.some(({ target }) => cacheOf(target) !== cacheOf(first.target)) ? 'weight' : 'tier';
};

export type Ordered = { targets: Target[] /** Why the first is the first. */; choice: Choice };

type Session = {
  session(): string;
  /** `originOf` the target that served its latest turn, where the history tells it. */
  origin(): string | undefined;
  /** What the model prefers. @default its order, tiers and weights */
  preferred?: Pick<Preferred, 'by' | 'rankOf' | 'kept'> | undefined;
};

/**
 * Two or more targets in the order in which a session tries them. The one that served its latest turn comes first: its cache holds
 * the prefix, and its thinking is valid nowhere else. Then lower tiers come first, in one tier what the model prefers, and
 * of equal ones an order of the session's own, without any state: a target that is added or removed moves no session but
 * its own. Targets without a tier stay in the order of the catalog.
 */
export const orderTargets = (
  targets: Target[],
  { session, origin, preferred }: Session,
): Ordered => {
  const latest = origin();
  const isLatest = ({ target }: Ranked) =>
    originOf(target) === latest || nameOf(target) === preferred?.kept;
  const ranked = targets
    .map((target, index) => ({
      target,
      tier: target.tier ?? index,
      rank: preferred?.rankOf(target) ?? 0,
      score: target.tier === undefined ? 0 : scoreOf(session(), target),
    }))
    .toSorted(byTier);
  const ordered = ranked.toSorted((one, other) => Number(isLatest(other)) - Number(isLatest(one)));
  const isKept = ordered[0] !== ranked[0];
  return {
    targets: ordered.map(({ target }) => target),
    choice: isKept ? 'session' : whyFirst(ranked, preferred?.by),
  };
};

const tierIn = (catalog: Target[], target: Target): number =>
  target.tier ?? catalog.indexOf(target);

/**
 * Whether a request is served by another target than it would be if all worked: not by the one that it tried first, or by
 * one to which its session failed over earlier. `catalog` are all targets of the model.
 */
export const isSecondChoice = (target: Target, targets: Target[], catalog: Target[]): boolean => {
  const tier = tierIn(catalog, target);
  return target !== targets[0] || targets.some((other) => tierIn(catalog, other) < tier);
};
