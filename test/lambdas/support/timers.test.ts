import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTimers, pause } from '../../../lambdas/support/clock.ts';

const MODULE = new URL('../../../lambdas/support/clock.ts', import.meta.url);

describe('timers', () => {
  beforeEach(() => {
    // Of those that are due at once, all but the first run as immediates: a millisecond later on a fake clock.
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'hrtime', 'performance'],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Timers whose actions note their names, and when those ran. */
  const createNoted = () => {
    const start = performance.now();
    const ran: string[] = [];
    const set = createTimers();
    const note = (name: string) => ran.push(`${name} at ${performance.now() - start}`);
    return { set, ran, note };
  };

  test('actions run once, each at its time, in the order of their times', () => {
    const { set, ran, note } = createNoted();
    for (const ms of [30_000, 5, 0, 1_000, 60_000, 6]) set(ms, () => note(`${ms} ms`));
    vi.advanceTimersByTime(120_000);
    expect(ran).toEqual([
      '0 ms at 1',
      '5 ms at 5',
      '6 ms at 6',
      '1000 ms at 1000',
      '30000 ms at 30000',
      '60000 ms at 60000',
    ]);
  });

  test('a cancelled action does not run, and those set before and after it do', () => {
    const { set, ran, note } = createNoted();
    const cancels = ['a', 'b', 'c', 'd'].map((name) => set(10, () => note(name)));
    cancels[1]?.();
    cancels[3]?.();
    vi.advanceTimersByTime(11);
    expect(ran.toSorted()).toEqual(['a at 10', 'c at 11']);
  });

  test('the second cancellation of an action, or one after it has run, cancels no other', () => {
    const { set, ran, note } = createNoted();
    const cancelFirst = set(1, () => note('first'));
    vi.advanceTimersByTime(1);
    const cancelSecond = set(1, () => note('second'));
    cancelSecond();
    set(1, () => note('third'));
    cancelFirst();
    cancelSecond();
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(['first at 1', 'third at 2']);
  });

  test('actions behind one that is late by a freeze keep their distance to it', () => {
    const { set, ran, note } = createNoted();
    for (const ms of [1_000, 2_400]) set(ms, () => note(`${ms} ms`));
    // Time that passes while no timer of Node's runs.
    const { hrtime } = process;
    const frozen = 60;
    process.hrtime = Object.assign(() => {
      const [seconds, nanos] = hrtime();
      return [seconds + frozen, nanos] as [number, number];
    }, hrtime);
    vi.advanceTimersByTime(2_399);
    expect(ran).toEqual(['1000 ms at 1000']);
    vi.advanceTimersByTime(2);
    expect(ran).toEqual(['1000 ms at 1000', '2400 ms at 2400']);
    process.hrtime = hrtime;
  });

  test('an action may cancel one that is due in the same moment', () => {
    const { set, ran, note } = createNoted();
    const cancels: (() => void)[] = [];
    for (const other of [1, 0]) cancels.push(set(5, () => cancels[other]?.()));
    set(5, () => note('third'));
    vi.advanceTimersByTime(6);
    expect(ran).toEqual(['third at 6']);
  });

  test('an action may set the next one, sooner and later than those that wait', () => {
    const { set, ran, note } = createNoted();
    set(50, () => note('waiting'));
    set(10, () => {
      note('first');
      set(20, () => note('sooner'));
      set(90, () => note('later'));
    });
    vi.advanceTimersByTime(1_000);
    expect(ran).toEqual(['first at 10', 'sooner at 30', 'waiting at 50', 'later at 100']);
  });

  test('an action set while an earlier alarm is pending for a cancelled one runs at its time', () => {
    const { set, ran, note } = createNoted();
    set(10, () => note('cancelled'))();
    set(25, () => note('next'));
    vi.advanceTimersByTime(24);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(['next at 25']);
  });

  test('an action that throws does not keep others from running', () => {
    const { set, ran, note } = createNoted();
    set(1, () => {
      throw new Error('of the action');
    });
    set(1, () => note('same moment'));
    set(5, () => note('later'));
    expect(() => vi.advanceTimersByTime(1)).toThrow('of the action');
    vi.advanceTimersByTime(10);
    expect(ran).toEqual(['same moment at 2', 'later at 5']);
  });

  test('of 1,000 actions in any order, those that are not cancelled run in the order of their times', () => {
    const set = createTimers();
    const ran: number[] = [];
    const times = Array.from({ length: 1_000 }, (_, index) => (index * 7_919) % 1_000);
    const cancels = times.map((ms) => set(ms, () => ran.push(ms)));
    for (const [index, cancel] of cancels.entries()) if (index % 3 !== 0) cancel();
    vi.advanceTimersByTime(1_000);
    const kept = times.filter((_, index) => index % 3 === 0);
    expect(ran).toEqual(kept.toSorted((one, other) => one - other));
  });
});

test('no action runs before its time, however late an alarm is set within a turn of the event loop', async () => {
  const set = createTimers();
  const early: number[] = [];
  const turn = (ms: number) =>
    new Promise<void>((resolve) => {
      const at = performance.now() + ms;
      set(ms, () => {
        if (performance.now() < at) early.push(ms);
        resolve();
      });
      // Node counts from the start of the turn.
      while (performance.now() < at - ms / 2);
    });
  for (let ms = 1; ms < 12; ms += 1) await turn(ms);
  expect(early).toEqual([]);
});

test('of two actions that are late, what awaits the first may cancel the second', async () => {
  const set = createTimers();
  const ran: string[] = [];
  const cancelSecond = set(2, () => ran.push('second'));
  const first = pause({ now: Date.now, after: set }, 1).then(cancelSecond);
  const third = pause({ now: Date.now, after: set }, 3);
  const start = performance.now();
  while (performance.now() < start + 5);
  await Promise.all([first, third]);
  expect(ran).toEqual([]);
});

describe('a process with timers', () => {
  /** What a process prints that has timers, and ends when nothing keeps it alive. */
  const printedBy = (code: string): string =>
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { createTimers } from '${MODULE}'; const after = createTimers(); ${code}`,
      ],
      { encoding: 'utf8', timeout: 60_000 },
    );

  test('a process lives until its last timer has run', () => {
    const code = 'after(5, () => after(5, () => process.stdout.write("ran")));';
    expect(printedBy(code)).toBe('ran');
  });

  test('a process does not wait for timers that were cancelled, the last one in an action', () => {
    const code = `
      after(3_600_000, () => {})();
      const cancel = after(3_600_000, () => {});
      after(5, () => { cancel(); process.stdout.write('cancelled'); });
    `;
    expect(printedBy(code)).toBe('cancelled');
  });

  test('a process lives for a timer that is set after all others were cancelled', () => {
    const code = `
      after(3_600_000, () => {})();
      after(20, () => process.stdout.write('ran'));
    `;
    expect(printedBy(code)).toBe('ran');
  });
});
