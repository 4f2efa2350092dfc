import { setImmediate } from 'node:timers/promises';

/** How long one turn of the event loop may take, in milliseconds. */
export const MAX_STALL_MS = 200;

const TICK_MS = 10;

export type StallMeter = {
  /**
   * Runs `action` and gives its longest turn, in CPU time of this thread: others cannot make it longer.
   */
  during<T>(action: () => Promise<T>): Promise<{ got: T; turnMs: number }>;
  stop(): void;
};

export const startStallMeter = (): StallMeter => {
  let longest = 0;
  let before = process.threadCpuUsage();
  const tick = () => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    // Between two ticks lie at most one pause and one turn.
    longest = Math.max(longest, (user + system) / 1000 - TICK_MS);
  };
  const timer = setInterval(tick, TICK_MS);
  return {
    during: async (action) => {
      // Two turns, so that the timers of what went before have run.
      await setImmediate();
      await setImmediate();
      before = process.threadCpuUsage();
      longest = 0;
      const got = await action();
      tick();
      return { got, turnMs: longest };
    },
    stop: () => clearInterval(timer),
  };
};
