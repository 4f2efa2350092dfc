import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import { holdAt } from '../../lambdas/metering/budgets.ts';
import { createMeter } from '../../lambdas/metering/meter.ts';
import { createDynamoBudgetStore } from '../../lambdas/stores/dynamo/budgets/budget-store.ts';
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

/** What a request leases, in nanos. */
type Lease = { nanos: number; ample: number; fixed: number; perToken: number };

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
  /** A request of each agent, at one of the meters. */
  const arrive = (caller: Caller, leaseFrom?: () => Lease) =>
    Array.from({ length: CROWD }, async (_, agent) => {
      await scheduler.sleep(agent * ARRIVAL_MS);
      const meter = meters[random.between(0, PROCESSES - 1)] as (typeof meters)[number];
      const options = leaseFrom && { lease: leaseFrom() };
      return meter.admit(caller, `req_${`${agent * 7_919}`.padStart(9, '0')}`, options);
    });
  return { scheduler, random, meters, arrive, calls, options };
};

test.each([
  { callMs: 10, most: 230 },
  { callMs: 40, most: 240 },
  { callMs: 160, most: 160 },
])(
  '200 requests that arrive at the new key of four processes within two seconds are all admitted, with at most $most writes where a call of the table takes $callMs ms',
  async ({ callMs, most }) => {
    for (const withItem of ['always', 'never'] as const) {
      const { scheduler, meters, arrive, calls } = startMeters(callMs, withItem);
      const admitted = arrive(CALLER);
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

test.each([
  { callMs: 10, most: 230 },
  { callMs: 160, most: 260 },
  { callMs: 640, most: 260 },
])(
  '200 requests that arrive at the new key of four processes within two seconds lease dollars with at most $most writes where a call of the table takes $callMs ms',
  async ({ callMs, most }) => {
    const { scheduler, random, arrive, calls, options } = startMeters(callMs, 'always');
    const owner = { scope: 'project', id: 'prj', period: 'total' as const };
    const budget = { ...owner, name: 'crowd', max: 1e12, isPaused: false, setBy: '', setAt: 0 };
    const setting = createDynamoBudgetStore(options).setBudget(budget, holdAt(owner, START));
    await scheduler.run(START + ANSWER_MS);
    await setting;
    calls.writes = 0;
    const caller = { ...CALLER, budgets: ['project/total'] };
    const admitted = arrive(caller, () => ({
      ...{ nanos: random.between(1e6, 1e8), ample: 1e8 },
      ...{ fixed: 1e6, perToken: 1_000 },
    }));
    await scheduler.run(START + 20 * ANSWER_MS);
    const admissions = await Promise.all(admitted);
    expect(calls.writes).toBeLessThanOrEqual(most);
    await Promise.all(admissions.map((admission) => admission.finished()));
  },
);
