import type { MeterStore, Standing } from '../stores/meter-store.ts';
import type { Reaper } from './reaper.ts';

export type Look = (query: Parameters<MeterStore['standing']>[0]) => Promise<Standing>;

/**
 * Reads where a meter stands. Whoever looks after 17 minutes sees no unit of a dead process any more: what is
 * found is given back first. @throws StoreUnavailable
 */
export const createLook =
  ({ store, reaper }: { store: Pick<MeterStore, 'standing'>; reaper: Reaper }): Look =>
  async (query) => {
    const seen = await store.standing(query);
    const isChanged = seen.leftovers && (await reaper.reap(query)) > 0;
    return isChanged ? store.standing(query) : seen;
  };
