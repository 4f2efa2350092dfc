import type { Clock } from '../../lambdas/support/clock.ts';

export type Scheduler = Clock & {
  /** Resolves after `ms` of simulated time. */
  sleep(ms: number): Promise<void>;
  /** Runs everything that falls due until `end`, in the order of simulated time. */
  run(end: number): Promise<void>;
};

/** Lets everything happen that needs no more time. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Time that moves from event to event. */
export const createScheduler = (start: number): Scheduler => {
  let now = start;
  /** The next event is the last; of one instant, the first added is. */
  const events: { at: number; action: () => void }[] = [];
  /** Where the events begin that are due at that instant or before. */
  const indexFor = (instant: number): number => {
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((events[middle]?.at ?? instant) > instant) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const after: Clock['after'] = (ms, action) => {
    const event = { at: now + ms, action };
    events.splice(indexFor(event.at), 0, event);
    return () => {
      const index = events.indexOf(event);
      if (index >= 0) events.splice(index, 1);
    };
  };
  const takeNext = (end: number) => {
    const next = events.at(-1);
    return next && next.at <= end ? events.pop() : undefined;
  };
  return {
    now: () => now,
    after,
    sleep: (ms) =>
      new Promise((resolve) => {
        after(ms, resolve);
      }),
    run: async (end) => {
      await settle();
      for (let event = takeNext(end); event; event = takeNext(end)) {
        now = event.at;
        event.action();
        await settle();
      }
      now = end;
    },
  };
};
