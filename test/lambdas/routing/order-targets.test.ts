import { describe, expect, test } from 'vitest';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import { originOf } from '../../../lambdas/protocols/thinking/origin.ts';
import { isSecondChoice, orderTargets } from '../../../lambdas/routing/order-targets.ts';
import { targetAt } from '../../support/models.ts';

const SESSIONS = Array.from({ length: 4_000 }, (_, index) => `session-${index}`);

const targetOf = (upstream: string, extra: Partial<Target> = {}) =>
  targetAt('http://127.0.0.1:1', { upstream, ...extra });

const orderOf = (targets: Target[], session: string, origin?: string) =>
  orderTargets(targets, { session: () => session, origin: () => origin }).targets.map(
    ({ upstream }) => upstream,
  );

const firstOf = (targets: Target[]) => SESSIONS.map((session) => orderOf(targets, session)[0]);

const shareOf = (firsts: (string | undefined)[], name: string) =>
  firsts.filter((first) => first === name).length / firsts.length;

const TIERED = ['a', 'b', 'c'].map((name) => targetOf(name, { tier: 0 }));

describe('the order of the targets of a session', () => {
  test('targets without tiers stay in the order of the catalog', () => {
    const targets = ['c', 'a', 'b'].map((name) => targetOf(name));
    for (const session of SESSIONS.slice(0, 50)) {
      expect(orderOf(targets, session)).toEqual(['c', 'a', 'b']);
    }
  });

  test('a session has one order in all of its steps, and targets of one tier share the sessions', () => {
    const firsts = firstOf(TIERED);
    expect(firstOf(TIERED.toReversed())).toEqual(firsts);
    for (const { upstream } of TIERED) expect(shareOf(firsts, upstream)).toBeCloseTo(1 / 3, 1);
  });

  test('each target gets its share of the weights', () => {
    const weighted = TIERED.map((target, index) => ({ ...target, weight: [1, 3, 6][index] ?? 1 }));
    const firsts = firstOf(weighted);
    expect(Math.abs(shareOf(firsts, 'a') - 0.1)).toBeLessThan(0.03);
    expect(Math.abs(shareOf(firsts, 'b') - 0.3)).toBeLessThan(0.03);
    expect(Math.abs(shareOf(firsts, 'c') - 0.6)).toBeLessThan(0.03);
  });

  test('a target that leaves moves only its own sessions, and those to all others', () => {
    const before = firstOf(TIERED);
    const after = firstOf(TIERED.slice(0, 2));
    const moved = after.filter((_, index) => before[index] === 'c');
    expect(after.filter((_, index) => before[index] !== 'c')).toEqual(
      before.filter((first) => first !== 'c'),
    );
    expect(shareOf(moved, 'a')).toBeCloseTo(0.5, 1);
  });

  test('lower tiers come first', () => {
    const targets = [targetOf('late', { tier: 1 }), ...TIERED];
    for (const session of SESSIONS.slice(0, 50)) {
      expect(orderOf(targets, session).at(-1)).toBe('late');
    }
  });

  test('targets of one account fill one cache, and stay in the order of the catalog', () => {
    const shared = ['one', 'two'].map((name) => targetOf(name, { tier: 0, account: 'main' }));
    expect(new Set(firstOf(shared))).toEqual(new Set(['one']));
    const keys = ['k1', 'k2'].map((secret) => targetAt('u', { secret, tier: 0, model: secret }));
    expect(
      new Set(
        SESSIONS.map(
          (session) =>
            orderTargets(keys, { session: () => session, origin: () => undefined }).targets[0],
        ),
      ).size,
    ).toBe(2);
  });

  test('the target that served the latest turn comes first, of any tier', () => {
    const targets = [...TIERED, targetOf('late', { tier: 1 })];
    for (const target of targets) {
      for (const session of SESSIONS.slice(0, 20)) {
        const [first, ...rest] = orderOf(targets, session, originOf(target));
        expect(first).toBe(target.upstream);
        expect(rest).toEqual(orderOf(targets, session).filter((name) => name !== first));
      }
    }
  });
});

describe('a second choice', () => {
  const [first, second] = [targetOf('first'), targetOf('second')];
  const [a, b] = [targetOf('a', { tier: 0 }), targetOf('b', { tier: 0 })];
  const later = targetOf('later', { tier: 1 });

  test.each([
    ['the first of the list', first, [first, second], [first, second], false],
    ['the second of the list', second, [first, second], [first, second], true],
    ['where its session failed over to', second, [second, first], [first, second], true],
    ['the only one that can serve the request', second, [second], [first, second], false],
    ["the session's own of a tier", b, [b, a, later], [a, b, later], false],
    ['another of the same tier', a, [b, a, later], [a, b, later], true],
    ['a later tier, where its session failed over to', later, [later, a, b], [a, b, later], true],
  ])('%s: %j', (_, served, targets, catalog, expected) => {
    expect(isSecondChoice(served, targets, catalog)).toBe(expected);
  });
});
