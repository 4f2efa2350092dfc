import type { MeterStore, Reservation } from '../stores/meter-store.ts';
import type { Log } from '../support/log.ts';

export type Reaper = {
  /** Refunds a meter's units of dead processes; returns how many. Never throws. */
  reap(meter: Pick<Reservation, 'meterId' | 'now'>): Promise<number>;
};

/** Concurrent requests of a meter see the same stale marks: one reaps them, the others await it. */
export const createReaper = ({
  store,
  log,
}: {
  store: Pick<MeterStore, 'reap'>;
  log: Log;
}): Reaper => {
  const running = new Map<string, Promise<number>>();

  const run = async (meterId: string, now: number): Promise<number> => {
    try {
      const refunded = await store.reap(meterId, now);
      if (refunded > 0) log.warn('meter_units_reaped', { meterId, refunded });
      return refunded;
    } catch {
      // The next request sees the same marks and tries again.
      return 0;
    } finally {
      running.delete(meterId);
    }
  };

  return {
    reap: ({ meterId, now }) => {
      const reaping = running.get(meterId) ?? run(meterId, now);
      running.set(meterId, reaping);
      return reaping;
    },
  };
};
