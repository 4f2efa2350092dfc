import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import { createMeter } from '../../lambdas/metering/meter.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { answerOf, clientFrom, createMemoryTable } from './memory-table.ts';
import { createRandom } from './random.ts';
import { createScheduler } from './scheduler.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const PROCESSES = 4;
const CROWD = 200;
/** Between two requests of the crowd. */
const ARRIVAL_MS = 10;
/** Of a response; the crowd is in flight at once. */
const ANSWER_MS = 30_000;
const CALLER: Caller = {
  keyId: 'key_00000000000000000000',
  projectId: 'prj',
  meterId: 'mtr_00000000000000000000',
  plan: { id: 'plan', rpm: 1_000_000, quota: 1_000_000, period: 'month' },
};

/** Meters of some processes on a table whose calls take `callMs` on average. */
const startMeters = (callMs: number, withItem: 'always' | 'never') => {
  const scheduler = createScheduler(START);
  const random = createRandom(1);
  const table = createMemoryTable();
  const travel = () => scheduler.sleep(random.between(callMs / 4, (callMs * 3) / 4));
  const calls = { reads: 0, writes: 0 };
  const client = clientFrom(async (command) => {
    await travel();
    const isRead = command instanceof GetCommand;
    calls[isRead ? 'reads' : 'writes'] += 1;
    const reply = isRead
      ? { held: true, item: table.get(String(command.input.Key?.pk)) }
      : table.update(command.input);
    await travel();
    return { ...answerOf(reply, isRead ? 'always' : withItem), Item: reply.item };
  });
  const options = { client: createSdkClient(client, scheduler), tableName: 'meters' };
  const meters = Array.from({ length: PROCESSES }, () =>
    createMeter({
      store: createDynamoMeterStore(options),
      clock: scheduler,
      log: createLog(() => undefined),
    }),
  );
  return { scheduler, random, meters, calls };
};

test.each([
  { callMs: 10, most: 230 },
  { callMs: 40, most: 240 },
  { callMs: 160, most: 160 },
])(
  '200 requests that arrive at the new key of four processes within two seconds are all admitted, with at most $most writes where a call of the table takes $callMs ms',
  async ({ callMs, most }) => {
    for (const withItem of ['always', 'never'] as const) {
      const { scheduler, random, meters, calls } = startMeters(callMs, withItem);
      const admitted = Array.from({ length: CROWD }, async (_, agent) => {
        await scheduler.sleep(agent * ARRIVAL_MS);
        const meter = meters[random.between(0, PROCESSES - 1)] as (typeof meters)[number];
        return meter.admit(CALLER, `req_${`${agent * 7_919}`.padStart(9, '0')}`);
      });
      await scheduler.run(START + ANSWER_MS);
      const admissions = await Promise.all(admitted);
      expect(calls.writes).toBeLessThanOrEqual(most);
      const charged = Promise.all(admissions.map((admission) => admission.charge()));
      await scheduler.run(START + 2 * ANSWER_MS);
      await charged;
      const usage = meters[0]?.usage(CALLER);
      await scheduler.run(START + 3 * ANSWER_MS);
      await expect(usage).resolves.toMatchObject({ period: { used: CROWD, reserved: 0 } });
      await Promise.all(admissions.map((admission) => admission.finished()));
    }
  },
);
