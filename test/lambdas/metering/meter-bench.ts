import { afterAll, beforeAll } from 'vitest';
import type { Caller } from '../../../lambdas/keys/authenticate.ts';
import { createMeter } from '../../../lambdas/metering/meter.ts';
import type { MeterStore } from '../../../lambdas/stores/meter-store.ts';
import type { Plan } from '../../../lambdas/stores/plan-store.ts';
import { StoreThrottled, StoreUnavailable } from '../../../lambdas/stores/store-unavailable.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { createUnreachableClient, storesOn } from '../../support/dynamo.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { type MemoryTables, startMemory } from '../../support/memory-stores.ts';

export const NOW = Date.parse('2026-11-21T11:30:20.500Z');

let counter = 0;
export const newId = (kind: string) => {
  counter += 1;
  return `${kind}_${counter}`;
};

/** A caller with a new meter and room for 100 requests, except for what `plan` changes. */
export const callerWith = (plan: Partial<Plan>): Caller => ({
  keyId: 'key_a',
  projectId: 'prj',
  meterId: newId('mtr'),
  plan: { id: 'plan', rpm: 100, quota: 100, period: 'month', ...plan },
});

/**
 * Records the calls of a store's verbs; `cut` makes the table unreachable, `throttle` throttles one verb, and `lose` loses
 * the replies to one, until `restore`. `hold` delays the calls of one verb until the function that it returns is called.
 */
const observed = (store: MeterStore) => {
  const calls: string[] = [];
  const unreachable = storesOn(createUnreachableClient()).meters;
  let target = store;
  let throttled: keyof MeterStore | undefined;
  let lost: keyof MeterStore | undefined;
  const gates = new Map<keyof MeterStore, Promise<void>>();
  const proxy = new Proxy(store, {
    get: (_, verb: keyof MeterStore) => {
      calls.push(verb);
      const send: (...parts: never[]) => Promise<unknown> = target[verb];
      const gate = gates.get(verb);
      return async (...parts: never[]) => {
        if (verb === throttled) throw new StoreThrottled('over capacity', { mayBeApplied: false });
        if (gate) await gate;
        const reply = await send(...parts);
        if (verb === lost) throw new StoreUnavailable('The reply was lost.');
        return reply;
      };
    },
  });
  return {
    store: proxy,
    calls,
    cut: () => {
      target = unreachable;
    },
    throttle: (verb: keyof MeterStore) => {
      throttled = verb;
    },
    lose: (verb: keyof MeterStore) => {
      lost = verb;
    },
    restore: () => {
      target = store;
      throttled = undefined;
      lost = undefined;
    },
    hold: (verb: keyof MeterStore) => {
      const held = Promise.withResolvers<void>();
      gates.set(verb, held.promise);
      return held.resolve;
    },
  };
};

/** Opens tables in memory for the tests of a file; returns a factory of meters on it. */
export const useMeterBench = () => {
  let tables: MemoryTables;
  beforeAll(async () => {
    tables = await startMemory();
  });
  afterAll(() => tables.close());

  return (start = NOW) => {
    const clock = createManualClock(start);
    const lines: string[] = [];
    const log = createLog((line) => lines.push(line));
    const table = observed(storesOn(tables.client).meters);
    /** The meter of one environment, whose clock is `offset` ms ahead. */
    const environment = (offset = 0) =>
      createMeter({
        store: table.store,
        clock: { ...clock, now: () => clock.now() + offset },
        log,
      });
    const meter = environment();
    const admit = (caller: Caller) => meter.admit(caller, newId('req'));
    return { clock, lines, table, meter, environment, admit };
  };
};
