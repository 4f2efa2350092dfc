import { expect, test } from 'vitest';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import { createMeter, type Meter } from '../../lambdas/metering/meter.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { ApiError } from '../../lambdas/support/errors.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { checksAll } from '../support/seeds.ts';
import { createRandom } from './random.ts';
import { createScaledTable } from './scaled-table.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

/** An eighth of the thousand units a second that DynamoDB gives one item. */
const UNITS_PER_SECOND = 125;
/** Of a response, from its first content to its end. */
const ANSWER_MS = 1_000;
/** Two writes of one unit each. */
const CAPACITY = UNITS_PER_SECOND / 2;
const CALM = 0.37 * CAPACITY;
const BURST = 2.25 * CAPACITY;
const SECOND = 1_000;
const START = Date.parse('2026-11-21T11:30:00Z');
const CALLER: Caller = {
  keyId: 'key_00000000000000000000',
  projectId: 'prj',
  meterId: 'mtr_00000000000000000000',
  plan: { id: 'plan', rpm: 1_000_000, quota: 1_000_000, period: 'month' },
};

const serve = async (meter: Meter, scheduler: Scheduler, requestId: string): Promise<boolean> => {
  try {
    const admission = await meter.admit(CALLER, requestId);
    await scheduler.sleep(ANSWER_MS);
    await admission.charge();
    await admission.finished();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return false;
    throw error;
  }
};

/** Offers requests to environments on one scaled table. */
const createLoad = (environments: number) => {
  const scheduler = createScheduler(START);
  const random = createRandom(1);
  const { client } = createScaledTable(scheduler, UNITS_PER_SECOND);
  const meters = Array.from({ length: environments }, () =>
    createMeter({
      store: createDynamoMeterStore({
        client: createSdkClient(client, scheduler),
        tableName: 'meters',
      }),
      clock: scheduler,
      log: createLog(() => undefined),
    }),
  );
  let sent = 0;
  /** Share of the requests of `seconds` that were answered. */
  const offer = async (rate: number, seconds: number): Promise<number> => {
    const count = Math.round(rate * seconds);
    let served = 0;
    for (let n = 0; n < count; n += 1) {
      scheduler.after(random.between(0, seconds * SECOND), () => {
        sent += 1;
        const meter = meters[sent % environments];
        if (!meter) return;
        void serve(meter, scheduler, `req_${String(sent).padStart(24, '0')}`).then((isServed) => {
          if (isServed) served += 1;
        });
      });
    }
    await scheduler.run(scheduler.now() + seconds * SECOND + 3 * ANSWER_MS);
    return served / count;
  };
  return offer;
};

const runPhases = async (environments: number) => {
  const offer = createLoad(environments);
  const before = await offer(CALM, 5);
  // The last answers of a phase end in the pause after it.
  const burst = await offer(BURST, 10);
  await offer(CALM, 2);
  const after = await offer(CALM, 10);
  return { before, burst, after };
};

test.each(checksAll ? [1, 4, 64] : [1, 64])(
  'a meter serves a load below its capacity as before five seconds after a burst above it (environments: %i)',
  async (environments) => {
    const { before, burst, after } = await runPhases(environments);
    expect(before).toBe(1);
    // Of what was offered; one item would admit 44 %.
    expect(burst).toBeGreaterThan(0.9);
    expect(after).toBeGreaterThanOrEqual(0.95 * before);
  },
);

test.each(checksAll ? [4, 64] : [4])(
  'a meter serves six times what one item admits, from its first seconds on (environments: %i)',
  async (environments) => {
    const offer = createLoad(environments);
    expect(await offer(6 * CAPACITY, 4)).toBeGreaterThanOrEqual(0.95);
  },
);
