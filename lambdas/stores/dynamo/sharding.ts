/** What a meter needs that has outgrown its item, or has several requests at once: a late part of the bundle. */
export { reserveAll, settleAll } from './meter-joint-writes.ts';
export { createReap } from './meter-reap.ts';
export { reserveInShard } from './meter-shard-writes.ts';
export { createShardedReserve } from './meter-sharded-reserve.ts';
