import type { MeterStore } from '../meter-store.ts';
import type { Condition, Write } from './item-write.ts';
import {
  FLOOR,
  IN_FLIGHT,
  itemKey,
  periodName,
  type StaleMarks,
  staleMarksIn,
} from './meter-item.ts';
import type { ReadAll } from './meter-shards.ts';
import { mayRaiseFloor } from './meter-writes.ts';
import type { Item, Table } from './table.ts';

/** Attempts while other writes change the item between its steps. */
const MAX_TRIES = 8;
/** Units that one write reaps at most, and marks that it removes; keeps its condition below DynamoDB's 4 KB. */
const MAX_REAPED = 100;
const MAX_EXPIRED = 40;

/**
 * Refunds all these units or none, and removes expired marks. Leaves no tombstones: the floor denies every late
 * copy.
 */
const reapAll = ({ abandoned, expired, lastMinute }: StaleMarks): Write => {
  const add: Record<string, number> = {};
  const take = (counter: string) => {
    add[counter] = (add[counter] ?? 0) - 1;
  };
  for (const { period, isCounted } of abandoned) {
    take(periodName(period));
    if (isCounted) take(IN_FLIGHT);
  }
  return {
    set: { [FLOOR]: lastMinute },
    remove: [...abandoned.map(({ name }) => name), ...expired],
    add,
    conditions: [
      mayRaiseFloor(lastMinute),
      ...abandoned.map(({ name, value }): Condition => [name, '=', value]),
    ],
  };
};

/** Refunds all units of dead processes: one read of each item, and one write for each hundred of them. */
export const createReap = (table: Table, readAll: ReadAll): MeterStore['reap'] => {
  const reapItem = async (key: string, read: Item | undefined, now: number): Promise<number> => {
    let refunded = 0;
    let item = read;
    for (let tries = 0; item && tries < MAX_TRIES; tries += 1) {
      const stale = staleMarksIn(item, now);
      const abandoned = stale.abandoned.slice(0, MAX_REAPED);
      const expired = stale.expired.slice(0, MAX_EXPIRED);
      if (abandoned.length + expired.length === 0) break;
      const write = reapAll({ ...stale, abandoned, expired });
      const result = await table.apply(key, write);
      // A repeat whose first copy was applied finds no marks.
      if (result.applied || result.mayBeDuplicated) refunded += abandoned.length;
      // Not applied: another process reaped some of them, or one was settled after all.
      item = result.applied ? result.item : await table.read(key);
    }
    return refunded;
  };
  return async (meterId, now) => {
    let refunded = 0;
    for (const [shard, item] of (await readAll(meterId)).entries()) {
      refunded += await reapItem(itemKey(meterId, shard), item, now);
    }
    return refunded;
  };
};
