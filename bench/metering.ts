/**
 * What metering costs: calls of the tables by outcome, the size of a meter's item and of a record, what a
 * reservation adds to a request's latency, and the price of a million; then what one key admits, here and in 0.1, in
 * simulated time. Run it with `npm run bench:metering`. Calls, bytes and ratios hold on any machine, milliseconds do not.
 */
import { randomBytes } from 'node:crypto';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  ScanCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import type { Caller } from '../lambdas/keys/authenticate.ts';
import type { Admission } from '../lambdas/metering/admission.ts';
import { holdAt } from '../lambdas/metering/budgets.ts';
import { createMeter } from '../lambdas/metering/meter.ts';
import { createDynamoBudgetStore } from '../lambdas/stores/dynamo/budgets/budget-store.ts';
import { createDynamoMeterStore } from '../lambdas/stores/dynamo/meter-store.ts';
import { createDynamoRecordStore } from '../lambdas/stores/dynamo/record-store.ts';
import type { RequestRecord } from '../lambdas/stores/record-store.ts';
import { dayOf, systemClock } from '../lambdas/support/clock.ts';
import { ApiError } from '../lambdas/support/errors.ts';
import { newRequestId } from '../lambdas/support/ids.ts';
import { createLog } from '../lambdas/support/log.ts';
import { PARTITION_KEY } from '../lambdas/tables.ts';
import { bytesOf, unitsOf } from '../test/simulation/scaled-table.ts';
import { startEmbeddedDynamo } from '../test/support/embedded-dynamo.ts';
import { LOCAL_AWS } from '../test/support/local-aws.ts';
import { createManualClock } from '../test/support/manual-clock.ts';
import { createDocumentClient, createSdkClient } from '../test/support/sdk-client.ts';
import { median } from './median.ts';
import { compareDesigns } from './metering/compare-designs.ts';
import { priceOf, print } from './metering/print.ts';

const MINUTE = 60_000;
const REPEATS = 100;
const FLOOD = 5_990;
const ROUNDS = 400;

const dynamo = await startEmbeddedDynamo();
const client = createDocumentClient({ ...LOCAL_AWS, endpoint: dynamo.endpoint });
const tableName = dynamo.tableNames.meters;
const clock = createManualClock(Date.parse('2026-11-21T11:30:00Z'));
const calls = { writes: 0, reads: 0 };

/** Counts each attempt, behind the SDK's repeats. */
const countCalls = ({ middlewareStack }: DynamoDBDocumentClient): void =>
  middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName === 'UpdateItemCommand') calls.writes += 1;
        else calls.reads += 1;
        return next(args);
      },
    { step: 'finalizeRequest', priority: 'low' },
  );
countCalls(client);

const store = createDynamoMeterStore({ client: createSdkClient(client, systemClock), tableName });
const meter = createMeter({ store, clock, log: createLog(() => undefined) });
const recordsTable = dynamo.tableNames.records;
const records = createDynamoRecordStore({
  client: createSdkClient(client, systemClock),
  tableName: recordsTable,
});

let count = 0;
/** As long as the ids of production. */
const newId = (kind: 'req' | 'key' | 'mtr') => {
  count += 1;
  return `${kind}_${String(count).padStart(kind === 'req' ? 24 : 20, '0')}`;
};
const callerWith = ({ rpm = 1e6, quota = 1e6 }: { rpm?: number; quota?: number } = {}): Caller => ({
  keyId: newId('key'),
  projectId: 'prj',
  meterId: newId('mtr'),
  plan: { id: 'plan', rpm, quota, period: 'month' },
});
/** 15 cents for 10,000 tokens of input, and 5 or 20 for 1,024 or 4,096 of output. */
const LEASE = { nanos: 200_000_000, ample: 350_000_000, fixed: 150_000_000, perToken: 48_828 };
const admit = (caller: Caller) =>
  meter.admit(caller, newId('req'), caller.budgets ? { lease: LEASE } : {});
/** The key of a project with a budget that no bench spends. */
const underBudget = async (): Promise<Caller> => {
  const owner = { scope: 'project', id: newId('key'), period: 'total' as const };
  const budgets = createDynamoBudgetStore({
    client: createSdkClient(client, systemClock),
    tableName,
  });
  const budget = { ...owner, name: '', max: 1e15, isPaused: false, setBy: '', setAt: 0 };
  await budgets.setBudget(budget, holdAt(owner, 0));
  return { ...callerWith(), projectId: owner.id, budgets: ['project/total'] };
};

const settle = async (caller: Caller, verbs: ('charge' | 'refund' | 'finished')[]) => {
  const admission = await admit(caller);
  for (const verb of verbs) await admission[verb]();
};

const refused = async (caller: Caller): Promise<void> => {
  try {
    await admit(caller);
  } catch (error) {
    if (error instanceof ApiError) return;
    throw error;
  }
  throw new Error('It was admitted.');
};

/** A streamed request whose first target failed, with every count that a provider reports. */
const newRecord = ({ keyId, meterId, projectId, plan }: Caller): RequestRecord => ({
  id: newRequestId(randomBytes, clock.now()),
  startedAt: clock.now(),
  ms: 21_345,
  projectId,
  keyId,
  meterId,
  planId: plan.id,
  day: dayOf(clock.now()),
  period: '2026-11',
  protocol: 'messages',
  model: 'aurora/scribe-1',
  isStream: true,
  attempts: [
    {
      upstream: 'aurora',
      model: 'scribe-1-2026-10-01',
      startedMs: 12,
      ms: 345,
      error: 'status',
      status: 503,
      reason: 'The engine is currently overloaded, please try again later.',
    },
    { upstream: 'borealis', model: 'scribe-1', startedMs: 358, ms: 812 },
  ],
  firstContentMs: 1_158,
  estimatedInputTokens: 18_211,
  inputTokens: 18_934,
  outputTokens: 1_204,
  cacheReadTokens: 16_384,
  cacheWriteTokens: 2_048,
  reasoningTokens: 512,
  costNanos: 14_009_200,
  isCharged: true,
  outcome: 'finished',
  status: 200,
  finish: 'tool_calls',
  awsRequestId: '2f1c7c5e-6a1e-4a57-9a55-2b1f1f0c9d3e',
  traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
});

const reset = () => {
  calls.writes = 0;
  calls.reads = 0;
};

/** Calls of a hundred repetitions, as a row for one. */
const row = async (what: string, run: (n: number) => Promise<void>): Promise<void> => {
  reset();
  for (let n = 0; n < REPEATS; n += 1) await run(n);
  const [writes, reads] = [calls.writes / REPEATS, calls.reads / REPEATS];
  print(what, writes, reads, priceOf(writes, reads));
};

/** A row for one environment in one minute, in which a hundred calls a second are refused. */
const flood = async (what: string, caller: Caller): Promise<void> => {
  clock.set(Math.ceil((clock.now() + 1) / MINUTE) * MINUTE);
  const used = Math.min(caller.plan.rpm, caller.plan.quota);
  for (let n = 0; n < used; n += 1) await settle(caller, ['charge', 'finished']);
  reset();
  for (let n = 0; n < FLOOD; n += 1) {
    await refused(caller);
    clock.advance(10);
  }
  print(what, calls.writes, calls.reads, priceOf(calls.writes / FLOOD, calls.reads / FLOOD));
};

const measureCalls = async (): Promise<void> => {
  print('calls of the table, a request', 'writes', 'reads', '$/million');
  const busy = callerWith();
  await row('answered, streamed or whole', () => settle(busy, ['charge', 'finished']));
  const budgeted = await underBudget();
  await row('answered, under a budget', () => settle(budgeted, ['charge', 'finished']));
  await row('failed, also in mid-stream', () => settle(busy, ['refund', 'finished']));
  await row('the record of either', () => records.putRecord(newRecord(busy), 1));
  const atLimit = async (plan: { rpm?: number; quota?: number }) => {
    const callers = Array.from({ length: REPEATS }, () => callerWith(plan));
    for (const caller of callers) await settle(caller, ['charge', 'finished']);
    return async (n: number) => refused(callers[n] ?? busy);
  };
  await row('refused with 429, the first time', await atLimit({ rpm: 1 }));
  await row('refused with 402, the first time', await atLimit({ quota: 1 }));
  await row('refused at a limit of 0, the first time', () => refused(callerWith({ quota: 0 })));
  await flood('a minute of 5,990 refusals with 429', callerWith({ rpm: 5 }));
  await flood('a minute of 5,990 refusals with 402', callerWith({ quota: 5 }));
  await row('models or count_tokens', () => meter.admitFree(busy));
  process.stdout.write(
    'The embedded table makes a first refusal read the item that DynamoDB sends along.\n',
  );
};

const sizeOf = async (meterId: string): Promise<number> => {
  const Key = { [PARTITION_KEY]: meterId };
  const { Item = {} } = await client.send(
    new GetCommand({ TableName: tableName, Key, ConsistentRead: true }),
  );
  return bytesOf(Item);
};

const printRecordSize = async (): Promise<void> => {
  const { Items = [] } = await client.send(
    new ScanCommand({ TableName: recordsTable, Limit: 1, ConsistentRead: true }),
  );
  const size = bytesOf(Items[0] ?? {});
  print('a record with two attempts', size, unitsOf(size));
};

const measureSize = async (): Promise<void> => {
  const caller = callerWith();
  for (let minute = 0; minute < 30; minute += 1) {
    for (let n = 0; n < 5; n += 1) await settle(caller, ['charge', 'finished']);
    clock.advance(MINUTE);
  }
  print('');
  print('a meter in use for half an hour', 'bytes', 'units');
  for (let open = 0; open <= 100; open += 1) {
    const size = await sizeOf(caller.meterId);
    if ([0, 1, 10, 20, 50, 60, 100].includes(open)) print(`${open} in flight`, size, unitsOf(size));
    await admit(caller);
  }
  await printRecordSize();
};

/** Milliseconds of each, by turns, so that a slow moment of the machine slows all. */
const race = async (runs: Record<string, () => Promise<unknown>>): Promise<Map<string, number>> => {
  const times = new Map(Object.keys(runs).map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, run] of Object.entries(runs)) {
      const start = performance.now();
      await run();
      times.get(name)?.push(performance.now() - start);
    }
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]));
};

const measureLatency = async (): Promise<void> => {
  const caller = callerWith();
  const budgeted = await underBudget();
  const bare = new UpdateCommand({
    TableName: tableName,
    Key: { [PARTITION_KEY]: 'bare' },
    UpdateExpression: 'ADD #n :one',
    ExpressionAttributeNames: { '#n': 'n' },
    ExpressionAttributeValues: { ':one': 1 },
  });
  let admission: Admission | undefined;
  let leased: Admission | undefined;
  const times = await race({
    'one bare UpdateItem': () => client.send(bare),
    'admit, before the upstream': async () => {
      admission = await admit(caller);
    },
    'admit, under a budget': async () => {
      leased = await admit(budgeted);
    },
    'charge, after the end': async () => admission?.charge(),
    'charge, under a budget': async () => leased?.charge(),
    'record, next to the charge': () => records.putRecord(newRecord(caller), 1),
  });
  const unit = times.get('one bare UpdateItem') ?? 1;
  print('');
  print('latency, median', 'ms', 'x bare');
  for (const [name, ms] of times) print(name, ms.toFixed(2), (ms / unit).toFixed(2));
};

await measureCalls();
await measureSize();
await measureLatency();
client.destroy();
await dynamo.close();
await compareDesigns();
