import type { Clock } from '../../lambdas/support/clock.ts';

export type ManualClock = Clock & {
  set(now: number): void;
  advance(ms: number): void;
  /** Whether something waits for exactly `ms` from now. */
  hasTimerOf(ms: number): boolean;
};

/** Stands still until it is told to move; what falls due on the way runs, in order. */
export const createManualClock = (start: number): ManualClock => {
  let now = start;
  let timers: { at: number; action: () => void }[] = [];
  const set = (target: number) => {
    for (;;) {
      const due = timers.filter(({ at }) => at <= target).toSorted((a, b) => a.at - b.at)[0];
      if (!due) break;
      timers = timers.filter((timer) => timer !== due);
      now = Math.max(now, due.at);
      due.action();
    }
    now = target;
  };
  return {
    now: () => now,
    after: (ms, action) => {
      const timer = { at: now + ms, action };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    set,
    advance: (ms) => set(now + ms),
    hasTimerOf: (ms) => timers.some(({ at }) => at === now + ms),
  };
};
