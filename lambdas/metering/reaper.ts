import type { MeterStore, Reservation } from '../stores/meter-store.ts';
import type { Log } from '../support/log.ts';

export type Reaper = {
  /** Refunds what dead processes left on the meter; how many units. Never throws. */
  reap(at: Pick<Reservation, 'meterId' | 'now'>): Promise<number>;
};

/** Every request of a meter sees the same leftovers: one of them clears them, the others wait for it. */
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
      // The next request sees the same leftovers.
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
