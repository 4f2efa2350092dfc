import { createCatalog } from '../../lambdas/catalog/catalog.ts';
import type { Call, Endpoint, Reply } from '../../lambdas/endpoints/endpoint.ts';
import type { FetchAnswer } from '../../lambdas/endpoints/fetch-answer.ts';
import { createGenerate } from '../../lambdas/endpoints/generate.ts';
import { parseJsonObject } from '../../lambdas/http/read-body.ts';
import { createMeter } from '../../lambdas/metering/meter.ts';
import type { GenerationEvent } from '../../lambdas/protocols/generation.ts';
import { callerProtocols } from '../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../lambdas/protocols/rejections/upstream-error.ts';
import { formatSse } from '../../lambdas/protocols/streams/sse.ts';
import { createReplay } from '../../lambdas/replay/replay.ts';
import { createCalibrations } from '../../lambdas/routing/calibrations.ts';
import { createLessons } from '../../lambdas/routing/lessons.ts';
import { createDynamoAnswerStore } from '../../lambdas/stores/dynamo/answer-store.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { ApiError } from '../../lambdas/support/errors.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { createSdkClient } from '../support/sdk-client.ts';
import { createFaultyClient, type Faults } from './faulty-network.ts';
import { createMemoryClient, createMemoryTable } from './memory-table.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

const START = Date.parse('2026-11-22T12:00:10Z');
const MINUTE = 60_000;
/** An idle timeout, as the caller gets it. */
const PROVIDER_FAILED = 504;
/** The last request starts long after every lease is over. */
const LATE_MS = 2 * MINUTE;
const PLAN: Plan = { id: 'plan', rpm: 1_000, quota: 1_000, period: 'month' };
const METER_ID = 'mtr';
const BODY = {
  model: 'vendor/model',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hi' }],
};
const TARGET = targetAt('http://provider.test');
const catalog = createCatalog([modelOn([TARGET])]);

/** What a caller got. */
type Received = {
  status: number;
  text: string;
  isComplete: boolean;
  isStored: boolean;
  at: number;
};

type World = {
  scheduler: Scheduler;
  random: Random;
  faults: Faults;
  table: ReturnType<typeof createMemoryTable>;
  upstream: { calls: number; failures: number };
  seen: Received[];
  lines: string[];
  deaths: number;
  /** What callers may get. */
  statuses: number[];
};

const eventsOf = (text: string): GenerationEvent[][] => [
  [
    { type: 'start' },
    { type: 'block-start', index: 0, block: { type: 'text' } },
    { type: 'block-delta', index: 0, delta: text },
  ],
  [{ type: 'block-delta', index: 0, delta: ' and more' }],
  [
    { type: 'block-end', index: 0 },
    { type: 'finish', reason: { unified: 'stop' }, usage: undefined },
  ],
];

/** A provider whose every call has another text; some fail, before or after their first content. */
const createProvider =
  ({ scheduler, random, upstream }: World, isAlive: () => boolean): FetchAnswer =>
  () => {
    upstream.calls += 1;
    const batches = eventsOf(`answer ${upstream.calls}`);
    const failsAt = random.chance(0.25) ? random.between(0, 2) : batches.length;
    const longest = random.chance(0.2) ? 20_000 : 2_000;
    const next = async (index: number) => {
      await scheduler.sleep(random.between(0, longest));
      if (!isAlive()) await new Promise<never>(() => undefined);
      if (index !== failsAt) return batches[index] ?? [];
      upstream.failures += 1;
      throw new UpstreamError('idle-timeout', 'the provider failed');
    };
    async function* rest(first: GenerationEvent[]) {
      yield first;
      for (let index = 1; index < batches.length; index += 1) yield await next(index);
    }
    const answer = next(0).then((first) => ({ batches: rest(first), isEmpty: false }));
    answer.catch(() => undefined);
    const attempt = { target: TARGET, form: TARGET, startedMs: 0, characters: 0, isFinal: false };
    const end = () => undefined;
    return { answer, tried: [attempt], end, abort: end };
  };

type Environment = { isAlive: () => boolean; generate: Endpoint };

/** One process: the endpoint with its meter and its kept responses, on its own way to the tables. */
const startProcess = (world: World): Environment => {
  const { scheduler, random, faults, table, lines } = world;
  const skew = random.between(-500, 500);
  const state = { isAlive: true };
  const isAlive = () => state.isAlive;
  const clock: Clock = {
    now: () => scheduler.now() + skew,
    after: (ms, action) => scheduler.after(ms, () => isAlive() && action()),
  };
  const client = createSdkClient(
    createFaultyClient({ table, scheduler, random, faults, isAlive }),
    clock,
  );
  const log = createLog((line) => isAlive() && lines.push(line));
  const meter = createMeter({
    store: createDynamoMeterStore({ client, tableName: 'meters' }),
    clock,
    log,
  });
  const answers = createDynamoAnswerStore({ client, tableName: 'answers' });
  if (random.chance(faults.crash)) {
    scheduler.after(random.between(0, 25_000), () => {
      state.isAlive = false;
      world.deaths += 1;
    });
  }
  const generate = createGenerate({
    catalog,
    calibrations: createCalibrations({
      store: { readReceipts: async () => [], writeReceipts: async () => undefined },
      clock,
    }),
    lessons: createLessons({
      store: { readLessons: async () => ({}), writeLesson: async () => undefined },
      clock,
      log,
    }),
    replay: createReplay({ openAnswers: () => answers, meter, clock, log, keepMs: 60 * MINUTE }),
    meter,
    prefetched: [],
    fetchAnswer: createProvider(world, isAlive),
    recorder: { record: async () => undefined },
    clock,
  });
  return { isAlive, generate };
};

const createCall = (id: number, now: number, stream: boolean): Call => {
  const body = { ...BODY, stream };
  const notes = {};
  return {
    requestId: `req_${String(id).padStart(24, '0')}`,
    awsRequestId: undefined,
    traceparent: undefined,
    startedAt: now,
    protocol: callerProtocols.chat,
    caller: { keyId: 'key', projectId: 'prj', meterId: METER_ID, plan: PLAN },
    body,
    source: parseJsonObject(JSON.stringify(body), 100),
    headers: {},
    header: (name) => (name === 'idempotency-key' ? 'one' : undefined),
    pathParameter: undefined,
    query: {},
    signal: new AbortController().signal,
    remainingMs: () => 900_000,
    notes,
    note: (fields) => Object.assign(notes, fields),
  };
};

/** Reads a reply to its end, or leaves a stream after its first bytes. */
const readReply = async (reply: Reply, leaves: boolean): Promise<Omit<Received, 'at'>> => {
  let text = 'json' in reply ? reply.json : '';
  if ('messages' in reply) {
    for await (const batch of reply.messages) {
      text += batch.map(formatSse).join('');
      if (leaves && text !== '') break;
    }
  }
  const isStored =
    reply.headers?.['idempotent-stored'] === undefined && !text.includes('idempotent-stored');
  const isWhole = !('messages' in reply) || text.includes('[DONE]');
  const isComplete = isWhole && !text.includes('"error"');
  return { status: reply.status, text: text.replaceAll(/^: .*\n\n/gm, ''), isComplete, isStored };
};

const ask = async (
  { scheduler, seen }: World,
  { generate, isAlive }: Environment,
  { call, leaves }: { call: Call; leaves: boolean },
): Promise<void> => {
  const receive = (received: Omit<Received, 'at'>) => {
    if (isAlive()) seen.push({ ...received, at: scheduler.now() });
  };
  try {
    receive(await readReply(await generate(call), leaves));
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 0;
    const text = error instanceof ApiError ? error.message : String(error);
    receive({ status, text, isComplete: false, isStored: true });
  }
};

const chargedIn = async ({ table, scheduler }: World): Promise<number> => {
  const store = createDynamoMeterStore({
    client: createSdkClient(createMemoryClient(table, 'always'), scheduler),
    tableName: 'meters',
  });
  await store.reap(METER_ID, scheduler.now());
  // Throttling may have sharded the meter: what its root lends is part of its counter, and of its shards'.
  const items = [...table.items].filter(([key]) => key.startsWith(METER_ID));
  const sumOf = (prefix: string) =>
    items
      .flatMap(([, item]) => Object.entries(item))
      .filter(([name]) => name.startsWith(prefix))
      .reduce((sum, [, value]) => sum + Number(value), 0);
  return sumOf('q') - sumOf('aq');
};

/** The promises of docs/replay.md that what happened breaks. */
const brokenIn = async (world: World, last: Received | undefined): Promise<string[]> => {
  const { seen, upstream, lines, deaths } = world;
  const broken: string[] = [];
  const kept = seen.filter(({ isComplete, isStored }) => isComplete && isStored);
  const texts = new Set(kept.map(({ text }) => text));
  if (texts.size > 1) broken.push(`${texts.size} different responses`);
  if (!last?.isComplete) broken.push(`the last caller got ${last?.status}: ${last?.text}`);
  const unexpected = seen.filter(({ status }) => !world.statuses.includes(status));
  broken.push(...unexpected.map(({ status, text }) => `status ${status}: ${text}`));
  // A response that states that it is not stored may be generated again.
  const unstored =
    seen.filter(({ isStored }) => !isStored).length +
    lines.filter((line) => line.includes('"answer_not_stored"')).length;
  const charged = await chargedIn(world);
  if (charged > 1 + unstored) broken.push(`${charged} units, ${unstored} not stored`);
  const unpaid = lines.filter((line) => line.includes('"meter_charge_pending"')).length;
  if (kept.length > 0 && charged < 1 - unpaid)
    broken.push('a response was sent and kept for no unit');
  // A provider may be called before the meter fails.
  const unmetered = seen.filter(({ text }) => text.includes('could not be metered')).length;
  const calls = 1 + upstream.failures + deaths + unmetered + 2 * unstored;
  if (upstream.calls > calls) broken.push(`${upstream.calls} calls, ${calls} explained`);
  return broken;
};

/**
 * Runs one schedule: callers of several processes with one idempotency key, some of which disconnect, a
 * provider that fails at times, processes that die, and the faults of the table. Returns the broken promises.
 */
export const simulateReplay = async (seed: number, chosen: Faults): Promise<string[]> => {
  const random = createRandom(seed);
  const scheduler = createScheduler(START);
  const { crash: _, ...ofTable } = chosen;
  const isFaulty = Object.values(ofTable).some((probability) => probability > 0);
  const world: World = {
    statuses: [200, PROVIDER_FAILED, ...(isFaulty ? [503] : [])],
    ...{ scheduler, random, faults: { ...chosen }, table: createMemoryTable() },
    ...{ upstream: { calls: 0, failures: 0 }, seen: [], lines: [], deaths: 0 },
  };
  const stream = random.chance(0.6);
  const processes = Array.from({ length: random.between(1, 3) }, () => startProcess(world));
  const callers = random.between(1, 5);
  for (let id = 0; id < callers; id += 1) {
    const process = processes[random.between(0, processes.length - 1)];
    const leaves = random.chance(0.2);
    scheduler.after(random.between(0, 40_000), () => {
      const call = createCall(id, scheduler.now(), stream);
      if (process?.isAlive()) void ask(world, process, { call, leaves });
    });
  }
  await scheduler.run(START + LATE_MS);
  // Faults are over: the same request again, until the provider does not fail.
  for (const name of Object.keys(chosen)) Object.assign(world.faults, { [name]: 0 });
  const survivor = startProcess(world);
  for (let id = 10; id < 20; id += 1) {
    const call = createCall(id, scheduler.now(), stream);
    void ask(world, survivor, { call, leaves: false });
    await scheduler.run(scheduler.now() + LATE_MS);
    if (world.seen.at(-1)?.isComplete) break;
  }
  const last = world.seen.at(-1);
  await scheduler.run(scheduler.now() + 20 * MINUTE);
  return brokenIn(world, last);
};
