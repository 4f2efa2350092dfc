import { number, object, readIfValid } from '../../support/schema.ts';
import type { BreakerStore } from '../breaker-store.ts';
import { type ConditionalWrite, createTable, type TableOptions } from './table.ts';

const StoredBreaker = object({ openUntil: number, openings: number, version: number });

const TRANSITION: ConditionalWrite = {
  update: `SET #openUntil = :openUntil, #openings = :openings, #version = :next, #ttl = :ttl
    REMOVE #probeUntil`,
  condition: 'attribute_not_exists(#version) OR #version = :seen',
};

/** A probe that never reported its outcome is released at `probeUntil`. */
const PROBE: ConditionalWrite = {
  update: 'SET #probeUntil = :until',
  condition: '#openUntil <= :now AND (attribute_not_exists(#probeUntil) OR #probeUntil <= :now)',
};

/** A breaker without a transition for a day is obsolete. */
const LIFE_SECONDS = 86_400;

const keyOf = (target: string): string => `B#${target}`;

/** `BreakerStore` on the meters table: like counters, breakers may be lost. */
export const createDynamoBreakerStore = (options: TableOptions): BreakerStore => {
  const table = createTable(options);
  return {
    readBreaker: async (target) => {
      // Kept for 2 s by its reader; transitions and probes are decided by conditions.
      const item = await table.read(keyOf(target), { mayBeStale: true });
      return readIfValid(StoredBreaker, item);
    },
    transitionBreaker: async (target, { openUntil, openings }, seen) => {
      const values = {
        ':openUntil': openUntil,
        ':openings': openings,
        ':seen': seen,
        ':next': seen + 1,
        ':ttl': Math.ceil(openUntil / 1000) + LIFE_SECONDS,
      };
      return (await table.apply(keyOf(target), TRANSITION, { values })).applied;
    },
    takeProbe: async (target, now, until) => {
      const values = { ':now': now, ':until': until };
      return (await table.apply(keyOf(target), PROBE, { values })).applied;
    },
  };
};
