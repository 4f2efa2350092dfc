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
  let sequence = 0;
  let events: { at: number; order: number; action: () => void }[] = [];
  const after: Clock['after'] = (ms, action) => {
    sequence += 1;
    const event = { at: now + ms, order: sequence, action };
    events.push(event);
    return () => {
      events = events.filter((other) => other !== event);
    };
  };
  const takeNext = (end: number) => {
    const next = events.reduce<(typeof events)[number] | undefined>(
      (best, event) =>
        !best || event.at < best.at || (event.at === best.at && event.order < best.order)
          ? event
          : best,
      undefined,
    );
    if (!next || next.at > end) return undefined;
    events.splice(events.indexOf(next), 1);
    return next;
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
