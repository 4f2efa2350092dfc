import { describe, expect, test } from 'vitest';
import {
  UpstreamError,
  type UpstreamErrorKind,
} from '../../../lambdas/protocols/rejections/upstream-error.ts';
import {
  addFailure,
  isFailing,
  isFailingForSeveral,
  isUnsteady,
  withoutSilent,
} from '../../../lambdas/routing/breakers/evidence.ts';
import {
  addRecent,
  type Failure,
  type RecentCalls,
  type Row,
  recentIn,
} from '../../../lambdas/routing/breakers/states.ts';
import { type TripRule, tripRuleFor } from '../../../lambdas/routing/breakers/trip-rules.ts';

const ruleOf = (kind: UpstreamErrorKind, status?: number): TripRule => {
  const rule = tripRuleFor(new UpstreamError(kind, '', { status }));
  if (!rule) throw new Error('no rule');
  return rule;
};
const FAILURE = ruleOf('status', 500);
const MINUTE = 60_000;

const failed = (by: string, more: Partial<Failure> = {}): Failure => ({
  ...{ at: 0, by, category: 'failure', hadContent: false },
  ...more,
});

/** A row with one failure for each letter. */
const rowOf = (letters: string, more: Partial<Failure> = {}): Row => {
  const row: Row = [];
  for (const by of letters) addFailure(row, failed(by, more));
  return row;
};

const lettersOf = (row: Row): string => row.map(({ by }) => by).join('');

describe('a row of failures', () => {
  test('a failure counts for ten minutes', () => {
    const row = rowOf('a');
    addFailure(row, failed('b', { at: 10 * MINUTE - 1 }));
    expect(lettersOf(row)).toBe('ab');
    addFailure(row, failed('c', { at: 10 * MINUTE }));
    expect(lettersOf(row)).toBe('bc');
  });

  test('of one member the last five failures count, of all members the last 50', () => {
    expect(lettersOf(rowOf('abaaaaa'))).toBe('baaaaa');
    const many = Array.from({ length: 60 }, (_, n) => String.fromCharCode(65 + n)).join('');
    expect(lettersOf(rowOf(many))).toBe(many.slice(10));
  });

  test('a first content leaves only responses that broke off', () => {
    const row = [failed('a'), failed('b', { hadContent: true })];
    expect(lettersOf(withoutSilent(row))).toBe('b');
  });

  test.each([
    { letters: 'aaaa', isEnough: false },
    { letters: 'aaaaa', isEnough: true },
  ])('failures $letters are five: $isEnough', ({ letters, isEnough }) => {
    expect(isFailing(rowOf(letters), FAILURE, 5)).toBe(isEnough);
  });

  test.each([
    { letters: 'aaaaa', after: 5, isEnough: false },
    { letters: 'aaaab', after: 5, isEnough: false },
    { letters: 'aaab', after: 5, isEnough: false },
    { letters: 'aaabb', after: 5, isEnough: true },
    { letters: 'abcde', after: 5, isEnough: true },
    { letters: 'a', after: 1, isEnough: false },
    { letters: 'ab', after: 1, isEnough: true },
    { letters: 'aab', after: 3, isEnough: true },
  ])('failures $letters are $after of several members: $isEnough', (row) => {
    expect(isFailingForSeveral(rowOf(row.letters), FAILURE, row.after)).toBe(row.isEnough);
  });

  test('failures of all categories but connections add up with those of the target', () => {
    const row = [
      ...rowOf('ab', { category: 'access' }),
      ...rowOf('c', { category: 'cooldown' }),
      ...rowOf('dd', { category: 'connection' }),
    ];
    expect([isFailing(row, FAILURE, 3), isFailing(row, FAILURE, 4)]).toEqual([true, false]);
    const access = ruleOf('status', 404);
    expect([isFailing(row, access, 2), isFailing(row, access, 3)]).toEqual([true, false]);
    const connect = ruleOf('connect');
    expect([isFailing(row, connect, 2), isFailing(row, connect, 3)]).toEqual([true, false]);
  });
});

describe('recent calls', () => {
  /** Calls a millisecond apart: a capital letter is a failed one. */
  const callsOf = (letters: string): RecentCalls => {
    const calls: RecentCalls = [];
    for (const [at, letter] of [...letters].entries()) {
      const by = letter.toLowerCase();
      addRecent(calls, { at, by, hasFailed: letter !== by });
    }
    return calls;
  };

  test.each([
    { calls: 'AaBbAaBbA', isLast: false },
    { calls: 'AaBbAaBbAa', isLast: true },
    { calls: 'AaBbAaBbaa', isLast: false },
    { calls: 'AAAAAAAAAA', isLast: false },
    { calls: 'AAAAAAAAbb', isLast: false },
    { calls: 'AAAAAAAABb', isLast: false },
    { calls: 'AAAAAAAABB', isLast: true },
    { calls: 'AAAAAABBbb', isLast: true },
    { calls: 'AAAAABBbbb', isLast: false },
    { calls: 'BBAAAAAAAA', isLast: true },
  ])('half of ten calls $calls failed, also without the heaviest caller: $isLast', (row) => {
    expect(isUnsteady(callsOf(row.calls), 10)).toBe(row.isLast);
  });

  test('a call counts for ten seconds', () => {
    expect(isUnsteady(callsOf('AABBAABBAA'), 9_999)).toBe(true);
    expect(isUnsteady(callsOf('AABBAABBAA'), 10_000)).toBe(false);
  });

  test('the last 50 calls count', () => {
    const steady = `${'AB'.repeat(30)}${'ab'.repeat(13)}`;
    expect(isUnsteady(callsOf(steady), 100)).toBe(false);
    expect(recentIn(callsOf(steady), 100)).toHaveLength(50);
    expect(callsOf('a'.repeat(1_000)).length).toBeLessThanOrEqual(100);
  });
});
