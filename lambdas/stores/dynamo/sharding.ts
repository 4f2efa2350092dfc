/** What a meter needs that has outgrown its item, or has several requests at once: a late part of the bundle. */
export { createReap } from './meter-reap.ts';
export { createShardedReserve } from './meter-sharded-reserve.ts';
