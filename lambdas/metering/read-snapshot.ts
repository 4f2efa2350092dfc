import type { MeterStore, UsageSnapshot } from '../stores/meter-store.ts';
import type { Reaper } from './reaper.ts';

export type ReadSnapshot = (
  query: Parameters<MeterStore['readUsage']>[0],
) => Promise<UsageSnapshot>;

/**
 * Reads where a meter stands. Whoever looks after 17 minutes sees no unit of a dead process any more: what is
 * found is given back first. @throws StoreUnavailable
 */
export const createReadSnapshot =
  ({ store, reaper }: { store: Pick<MeterStore, 'readUsage'>; reaper: Reaper }): ReadSnapshot =>
  async (query) => {
    const seen = await store.readUsage(query);
    const isChanged = seen.leftovers && (await reaper.reap(query)) > 0;
    return isChanged ? store.readUsage(query) : seen;
  };
