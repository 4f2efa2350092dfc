import type { Clock } from '../../lambdas/support/clock.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';

export type CountingClock = ManualClock & {
  /** Lengths (ms) of the timers that are still waiting. */
  waits(): number[];
};

/** A clock that stands still and knows which timers are still waiting. */
export const createCountingClock = (start: number): CountingClock => {
  const manual = createManualClock(start);
  const pending = new Map<() => void, number>();
  const after: Clock['after'] = (ms, action) => {
    const run = () => {
      pending.delete(run);
      action();
    };
    const cancel = manual.after(ms, run);
    pending.set(run, ms);
    return () => {
      pending.delete(run);
      cancel();
    };
  };
  return { ...manual, after, waits: () => [...pending.values()] };
};
