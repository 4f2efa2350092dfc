import { describe, expect, test } from 'vitest';
import {
  denyTurn,
  mayCall,
  noteCall,
  noteStart,
  startPacing,
} from '../../../lambdas/routing/breakers/pace.ts';
import { isPaced, newPace } from '../../../lambdas/routing/breakers/states.ts';

const NOW = 1_000_000;

describe('calls through an open breaker', () => {
  test('the next call of another owner is sent a second after the last one', () => {
    const pace = newPace();
    expect(mayCall(pace, 'a', NOW)).toBe(true);
    noteCall(pace, 'a', NOW);
    expect(mayCall(pace, 'b', NOW + 999)).toBe(false);
    expect(mayCall(pace, 'b', NOW + 1_000)).toBe(true);
  });

  test('the next call of the same owner is sent two seconds after the last one', () => {
    const pace = newPace();
    noteCall(pace, 'a', NOW);
    expect(mayCall(pace, 'a', NOW + 1_999)).toBe(false);
    denyTurn(pace.turns, 'a', NOW + 1_999);
    expect(mayCall(pace, 'a', NOW + 2_000)).toBe(true);
  });

  test('where all calls are those of one owner, the next is sent after a second', () => {
    const pace = newPace();
    noteCall(pace, undefined, NOW);
    expect(mayCall(pace, undefined, NOW + 999)).toBe(false);
    expect(mayCall(pace, undefined, NOW + 1_000)).toBe(true);
  });

  test('an owner waits for another who was denied, for 4.5 s since the first denial', () => {
    const pace = newPace();
    noteCall(pace, 'a', NOW);
    denyTurn(pace.turns, 'b', NOW + 500);
    denyTurn(pace.turns, 'b', NOW + 900);
    expect(mayCall(pace, 'a', NOW + 4_999)).toBe(false);
    expect(mayCall(pace, 'b', NOW + 1_000)).toBe(true);
    expect(mayCall(pace, 'a', NOW + 5_000)).toBe(true);
  });

  test('a call ends the wait of its owner for those who were denied before it', () => {
    const pace = newPace();
    noteCall(pace, 'a', NOW);
    denyTurn(pace.turns, 'b', NOW + 500);
    noteCall(pace, 'b', NOW + 1_000);
    expect(mayCall(pace, 'b', NOW + 3_000)).toBe(true);
  });
});

describe('calls after the first content', () => {
  const answering = (starts: number) => {
    const pace = newPace();
    startPacing(pace, NOW);
    for (let n = 0; n < starts; n += 1) noteStart(pace, NOW);
    return pace;
  };
  /** How many calls may be sent at once. */
  const countCalls = (pace: ReturnType<typeof newPace>, now: number): number => {
    let calls = 0;
    for (; calls < 100 && mayCall(pace, 'a', now); calls += 1) noteCall(pace, 'a', now);
    return calls;
  };

  test.each([
    { starts: 0, calls: 1 },
    { starts: 1, calls: 8 },
    { starts: 4, calls: 8 },
    { starts: 5, calls: 10 },
    { starts: 20, calls: 40 },
  ])('$calls calls are sent in the second after $starts first contents', ({ starts, calls }) => {
    const pace = answering(starts);
    expect(countCalls(pace, NOW + 1)).toBe(calls);
    if (starts > 0) expect(countCalls(pace, NOW + 1_000)).toBe(0);
    if (starts > 0) expect(countCalls(pace, NOW + 1_001)).toBe(8);
  });

  test('a first content of ten seconds ago shows no more that the target answers', () => {
    const pace = answering(20);
    startPacing(pace, NOW + 9_000);
    expect(countCalls(pace, NOW + 9_999)).toBe(8);
    expect(countCalls(answering(20), NOW + 10_000)).toBe(1);
  });

  test('calls and first contents are counted for three seconds', () => {
    const pace = newPace();
    expect(isPaced(pace, NOW)).toBe(false);
    startPacing(pace, NOW);
    expect(isPaced(pace, NOW + 2_999)).toBe(true);
    expect(isPaced(pace, NOW + 3_000)).toBe(false);
    noteStart(pace, NOW + 3_000);
    noteCall(pace, 'a', NOW + 3_000);
    expect(mayCall(pace, 'a', NOW + 3_001)).toBe(false);
  });

  test('calls and first contents of the last ten seconds are kept', () => {
    const pace = newPace();
    for (let second = 0; second < 60; second += 1) {
      startPacing(pace, NOW + second * 1_000);
      noteStart(pace, NOW + second * 1_000);
      noteCall(pace, 'a', NOW + second * 1_000);
    }
    expect([pace.calls.length, pace.starts.length]).toEqual([10, 10]);
  });
});
