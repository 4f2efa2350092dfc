import { type Clock, createTimers } from '../../../lambdas/support/clock.ts';

export type FreezableClock = Clock & {
  /**
   * Passes `ms` at once, as for a process that was frozen. Where the monotonic clock runs on, the alarm of a timer that
   * falls due rings before the packets that have arrived are read.
   */
  freeze(ms: number, monotonic: 'runs' | 'stands still'): void;
  /** Passes `ms` of a process that runs. */
  advance(ms: number): void;
};

/** Mid-month: what is charged before a freeze of six hours and after it is of one period. */
const START = Date.parse('2026-11-10T11:30:30Z');

/** The timers of the router on the system's time from `START` on, which can jump. */
export const createFreezableClock = (): FreezableClock => {
  let wallAhead = START - Date.now();
  let monotonicAhead = 0;
  const now = () => performance.now() + monotonicAhead;
  const alarms = new Set<{ at: number; ring: () => void }>();

  const setAlarm = ((action: () => void, ms: number) => {
    const ring = () => {
      clearTimeout(timeout);
      alarms.delete(alarm);
      action();
    };
    const alarm = { at: now() + ms, ring };
    const timeout = setTimeout(ring, ms);
    alarms.add(alarm);
    return timeout;
  }) as typeof setTimeout;
  const ringDue = () => {
    for (const { at, ring } of alarms) if (at <= now()) ring();
  };
  return {
    now: () => Date.now() + wallAhead,
    after: createTimers(now, setAlarm),
    freeze: (ms, monotonic) => {
      wallAhead += ms;
      if (monotonic === 'runs') monotonicAhead += ms;
      ringDue();
    },
    advance: (ms) => {
      const step = 250;
      for (let left = ms; left > 0; left -= step) {
        wallAhead += Math.min(left, step);
        monotonicAhead += Math.min(left, step);
        ringDue();
      }
    },
  };
};
