import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createMemoryClient, createMemoryTable } from '../simulation/memory-table.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { fc, share } from '../support/seeds.ts';
import { createPrevious, PREVIOUS } from './previous.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const MINUTE = 60_000;
const PERIOD = '2026-11';
const METER = 'mtr';

/** Two requests fill an item. */
const SHARDING = {
  marksPerItem: 2,
  minShards: 2,
  maxShards: 64,
  limitsHoldMs: 0,
  throttledToSpread: 3,
  writesInFlight: 2,
};

/** A number of requests that one release gets at once, and how those that were admitted end. */
const anyStep = fc.record({
  by: fc.constantFrom('current', 'previous'),
  requests: fc.integer({ min: 1, max: 8 }),
  end: fc.constantFrom('charge', 'refund', 'later'),
  minutes: fc.constantFrom(0, 0, 0, 1),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

type Limits = { rpm: number; quota: number };

/** The same verbs of both releases. */
const setUp = async () => {
  const document = createMemoryClient(createMemoryTable(), 'always');
  const current = createDynamoMeterStore({
    client: createSdkClient(document, systemClock),
    tableName: TABLE_NAMES.meters,
    sharding: SHARDING,
  });
  const clock = createManualClock(START);
  const parts = { clock, log: createLog(() => undefined), randomBytes };
  const { meters: previous } = await createPrevious(document, parts);
  return {
    current,
    releases: {
      current,
      previous: {
        reserve: previous.reserve,
        refund: previous.refund,
        charge: async (unit: Parameters<typeof previous.commit>[0]) => {
          await previous.commit(unit);
          await previous.close(unit);
        },
      },
    },
  };
};

const play = async (limits: Limits, steps: Step[]): Promise<void> => {
  const { current, releases } = await setUp();
  let now = START;
  let count = 0;
  let held = 0;
  let inMinute = 0;
  const open: (() => Promise<void>)[] = [];

  const reservation = () => {
    count += 1;
    const ids = { meterId: METER, requestId: `req_${String(count).padStart(24, '0')}` };
    const minute = Math.floor(now / MINUTE);
    return { ...ids, keyId: 'key_a', minute, period: PERIOD, now, ...limits };
  };

  const run = async ({ by, requests, end, minutes }: Step): Promise<void> => {
    now += minutes * MINUTE;
    if (minutes > 0) inMinute = 0;
    const store = releases[by];
    const all = Array.from({ length: requests }, reservation);
    const results = await Promise.all(all.map((one) => store.reserve(one)));
    const admitted = all.filter((_, index) => results[index]?.outcome === 'admitted');
    held += admitted.length;
    inMinute += admitted.length;
    expect(held).toBeLessThanOrEqual(limits.quota);
    expect(inMinute).toBeLessThanOrEqual(limits.rpm);
    // This release finds each unit that is left; the other may deny what is lent.
    const isDenied = by === 'current' && admitted.length < requests;
    if (isDenied) expect(held === limits.quota || inMinute === limits.rpm).toBe(true);
    const ends = admitted.map((one) => async () => {
      if (end === 'refund') held -= 1;
      await (end === 'refund' ? store.refund(one) : store.charge(one));
    });
    if (end === 'later') open.push(...ends);
    else for (const finish of ends) await finish();
    expect((await current.readUsage(reservation())).periodCount).toBe(held);
  };

  for (const step of steps) await run(step);
  for (const finish of open) await finish();
  const usage = await current.readUsage(reservation());
  expect(usage).toMatchObject({ periodCount: held, reservedCount: 0, inFlightCount: 0 });
};

test(`a meter of this release and ${PREVIOUS} by turns exceeds no limit and loses no unit in any of 400 histories`, async () => {
  const limits = fc.record({
    rpm: fc.integer({ min: 4, max: 40 }),
    quota: fc.integer({ min: 4, max: 40 }),
  });
  const steps = fc.array(anyStep, { maxLength: 12 });
  await fc.assert(fc.asyncProperty(limits, steps, play), { numRuns: share(400) });
});
