/**
 * The crowd of test/budgets/crowd.ts in simulated time: the stores and meters of four processes on a table in memory whose calls
 * take a while, without HTTP. What a request does is the rule of fuse.ts at the prices of one model.
 */
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { holdAt } from '../../lambdas/metering/budgets.ts';
import { createMeter, type Meter } from '../../lambdas/metering/meter.ts';
import { createDynamoBudgetStore } from '../../lambdas/stores/dynamo/budgets/budget-store.ts';
import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import type { LeasedUnit } from '../../lambdas/stores/meter-store.ts';
import { ApiError } from '../../lambdas/support/errors.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { type CrowdSize, createTally, type Prompt, promptFrom, shown } from '../budgets/tally.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { answerOf, clientFrom, createMemoryTable } from './memory-table.ts';
import { createRandom } from './random.ts';
import { createScheduler } from './scheduler.ts';

const START = Date.UTC(2026, 10, 24, 12);
/** Nanos of a token. */
const [WRITE, READ, OUTPUT] = [6_250, 500, 25_000];
/** As in money/lease.ts, of an estimate that is somewhat high. */
const ESTIMATE = 1.086 * 1.2;
const MOST = 8_000;
/** As in fuse.ts. */
const [SLICE, LARGE, SMALL, ASK_AT, AGAIN, END_AT, NEAR] = [1_024, 4_096, 256, 256, 64, 96, 20];

const usedIn = (item: Item | undefined): number => {
  let sum = 0;
  for (const [name, value] of Object.entries(item ?? {})) {
    if (name[0] === '$') sum += (name[1] === '+' ? 1 : -1) * Number(value);
  }
  return sum;
};

/** What fuse.ts does with a lease, of which so many nanos are for the input. */
const slicesOf = (meter: Meter, unit: LeasedUnit, counted: number) => {
  let [size, asksAt] = [LARGE, ASK_AT];
  let changing: Promise<boolean> | undefined;
  const change = (to: number): Promise<boolean> => {
    changing ??= meter
      .changeLease(unit, to)
      .then((refusal) => refusal === undefined)
      .finally(() => {
        changing = undefined;
      });
    return changing;
  };
  const leased = () => (unit.lease.nanos - counted) / OUTPUT;
  const isLow = (generated: number) => leased() < MOST && leased() - generated < END_AT;
  const ask = (generated: number): void => {
    const rest = leased() - generated;
    if (changing || leased() >= MOST || rest >= asksAt) return;
    const more = Math.ceil(Math.min(size, MOST - leased()) * OUTPUT);
    void change(unit.lease.nanos + more).then((isChanged) => {
      size = isChanged ? LARGE : SMALL;
      asksAt = isChanged ? ASK_AT : rest - AGAIN;
    });
  };
  return {
    isLow,
    ask: async (generated: number): Promise<void> => {
      ask(generated);
      for (let tries = 0; tries < 2 && isLow(generated); tries += 1) {
        ask(generated);
        await changing;
      }
    },
    returnRest: (left: number): void => {
      const kept = counted + LARGE * OUTPUT;
      if (left <= NEAR * unit.lease.nanos && kept < unit.lease.nanos * 0.75) void change(kept);
    },
    changed: async () => void (await changing),
  };
};

/** Runs a crowd until its budget is used up; a line of what it cost. `callMs`: the mean of a call of the table. */
export const simulateCrowd = async (
  size: CrowdSize & { callMs: number; seed: number },
): Promise<string> => {
  const { agents, keys, maxUsd, callMs } = size;
  const max = maxUsd * 1e9;
  const scheduler = createScheduler(START);
  const random = createRandom(size.seed);
  const table = createMemoryTable();
  let [used, billed, ended, requests] = [0, 0, 0, 0];
  const { tally, phase, watch, denied } = createTally(max, () => used);
  const travel = () => scheduler.sleep(random.between(callMs / 4, (callMs * 3) / 4));
  const client = clientFrom(async (command) => {
    await travel();
    const key = String(command.input.Key?.pk);
    const before = table.get(key);
    const reply =
      command instanceof GetCommand ? { held: true, item: before } : table.update(command.input);
    if (!(command instanceof GetCommand)) watch(key, command.input);
    used += usedIn(table.get(key)) - usedIn(before);
    await travel();
    return { ...answerOf(reply, 'always'), Item: reply.item };
  });
  const options = { client: createSdkClient(client, scheduler), tableName: 'meters' };
  const owner = { scope: 'project', id: 'crowd', period: 'total' as const };
  const budget = { ...owner, name: 'crowd', max, isPaused: false, setBy: '', setAt: 0 };
  const setting = createDynamoBudgetStore(options).setBudget(budget, holdAt(owner, START));
  await scheduler.run(START + 10_000);
  await setting;
  const meters = Array.from({ length: 4 }, () =>
    createMeter({
      store: createDynamoMeterStore(options),
      clock: scheduler,
      log: createLog(() => {}),
    }),
  );
  const plan = { id: 'plan', rpm: 1e6, quota: 1e6, period: 'month' as const };
  const callerOf = (agent: number) => ({
    ...{ keyId: `key${agent % keys}`, meterId: `meter${agent % keys}` },
    ...{ projectId: 'crowd', plan, budgets: ['project/total'] },
  });

  /** @throws ApiError */
  const serve = async (agent: number, prompt: Prompt): Promise<void> => {
    const { tokens, fresh, wanted } = prompt;
    const meter = meters[random.between(0, 3)] as (typeof meters)[number];
    const fixed = Math.ceil(tokens * ESTIMATE * WRITE);
    const nanos = fixed + SLICE * OUTPUT;
    const lease = { nanos, ample: fixed + LARGE * OUTPUT, fixed, perToken: OUTPUT };
    const counts = phase();
    requests += 1;
    const admission = await meter.admit(callerOf(agent), `req_${`${requests}`.padStart(9, '0')}`, {
      lease,
      now: scheduler.now(),
    });
    const unit = {
      ...admission.unit,
      lease: admission.unit.lease ?? { ...lease, holds: [], spent: 0 },
    };
    const input = prompt.isLost ? tokens * WRITE : (tokens - fresh) * READ + fresh * WRITE;
    billed += input;
    await scheduler.sleep(800);
    const counted = prompt.isMessages ? input : fixed;
    const slices = slicesOf(meter, unit, counted);
    slices.returnRest(admission.limits.budgets?.[0]?.left ?? 0);
    let generated = 0;
    while (generated < wanted && !slices.isLow(generated)) {
      await scheduler.sleep(100);
      const more = Math.min(8, wanted - generated);
      generated += more;
      billed += more * OUTPUT;
      await slices.ask(generated);
    }
    await slices.changed();
    unit.lease.spent = input + generated * OUTPUT;
    await admission.charge();
    await admission.finished();
    counts.served += 1;
  };

  const work = async (agent: number): Promise<void> => {
    await scheduler.sleep(agent * 10);
    const sizes = { context: [20_000, 200_000], output: [330, MOST], lost: size.lost } as const;
    const next = () =>
      promptFrom(random, { ...sizes, context: [...sizes.context], output: [...sizes.output] });
    for (let prompt = next(), waits = 0; ; ) {
      tally.attempts += 1;
      try {
        await serve(agent, prompt);
        [prompt, waits] = [next(), 0];
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        denied(error.status, billed);
        if (error.status === 402) break;
        await scheduler.sleep(1_000 * Math.min(8, 2 ** waits));
        waits += 1;
      }
    }
    ended += 1;
  };
  const working = Promise.all(Array.from({ length: agents }, (_, agent) => work(agent)));
  while (ended < agents) await scheduler.run(scheduler.now() + 1_000);
  await working;
  tally.seconds = (scheduler.now() - START) / 1_000;
  return `simulated at ${callMs} ms a call, ${shown(size, billed, tally)}`;
};
