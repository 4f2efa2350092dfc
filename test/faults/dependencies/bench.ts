import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { LogEvent } from '../../../lambdas/log-events.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { listen } from '../../../local/loopback.ts';
import type { DynamoProxy, TableCall } from '../../metering/dynamo-proxy.ts';
import { assertChatStream } from '../../support/chat-stream.ts';
import {
  type Environment,
  type Environments,
  startEnvironments,
  type Tenant,
} from '../../support/environments.ts';
import { answer, status } from '../../support/fleet-upstream.ts';
import { assertMessagesStream } from '../../support/messages-stream.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { type Sent, send } from '../../support/send.ts';
import { parseJson, readSse } from '../../support/sse-text.ts';
import {
  AGE_NAMES,
  AGES,
  type Age,
  type Cell,
  type End,
  SITUATIONS,
  type Situation,
  usualOf,
} from './cells.ts';

const START = Date.UTC(2026, 10, 21, 12);
const REAPED_AFTER_MS = 18 * 60_000;
const HALF_OPEN_AFTER_MS = 1_000;
/** Cells at a time. */
const WIDTH = 24;
const TICK_MS = 10;
const LATE_MS = 50;
/** A held-back meter or a failed read of the secret is tried again a second later. */
const RECOVERY_TRIES = 10;
const RECOVERY_PAUSE_MS = 600;
/** Where a busy machine lets the calls of a working table time out, the usage of a cell is a 503 for as long. */
const SETTLING = { timeout: 120_000, interval: 250 };
const LOOKS = 100;

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' };
const BYSTANDER: Situation = { end: 'an answer', age: 'warm', family: 'chat', isStream: false };
const BYSTANDER_MODEL = 'vendor/bystander';

/** Runs in real time and can be set forward. */
const createRunningClock = () => {
  const startedAt = performance.now();
  let ahead = 0;
  return {
    ...systemClock,
    now: () => Math.floor(START + performance.now() - startedAt) + ahead,
    advance: (ms: number) => {
      ahead += ms;
    },
  };
};

/** Models of the provider by what their requests come to. */
const NAMES: Record<End, string> = {
  'an answer': 'answers',
  'a failure': 'fails',
  'an answer to the probe': 'recovered',
  'its usage': 'unused',
};

const nameAt = (end: End, at: number) => `${NAMES[end]}-${at}`;

/** A provider that answers, but for models whose name says otherwise. */
const startProvider = () =>
  listen(
    createServer(async (request, response) => {
      const { model } = (await json(request)) as { model: string };
      return model.startsWith(NAMES['a failure']) ? status(500)(response) : answer(response);
    }),
  );

/** @throws by `expect` unless the response ends as its protocol demands */
const assertEnd = ({ family, isStream }: Situation, { status: code, text }: Sent): void => {
  if (code !== 200) {
    const { error } = parseJson(text) as { error?: { type?: string; message?: string } };
    if (!error?.type || !error.message) throw new Error(`no error in ${text}`);
  } else if (!isStream) parseJson(text);
  else if (family === 'chat') assertChatStream(readSse(text));
  else assertMessagesStream(readSse(text));
};

const isAnswered = ({ status: code, text }: Sent) =>
  code === 200 && !text.includes('event: error') && !text.includes('"error"');

/** Whether the call reads or writes an item of another tenant, or of all. */
const isOneOf =
  (items: string[]) =>
  ({ key }: TableCall): boolean =>
    key !== '' && items.some((item) => key === item || key.startsWith(`${item}/`));

/** Makes every call meet the trouble from the nth of its kind on; calls of `items` are another tenant's. */
const troubleFrom = ({ call, trouble }: Cell, items: string[]) => {
  let met = 0;
  const isShared = isOneOf(items);
  return (made: TableCall) => {
    if (made.operation !== call.operation || made.table !== call.table) return 'none';
    if (isShared(made)) return 'none';
    met += 1;
    return met >= call.nth ? trouble : 'none';
  };
};

const proxyOf = ({ dynamo, secrets }: Environment, { call }: Cell): DynamoProxy =>
  call.operation === 'GetSecretValue' ? secrets : dynamo;

/** What one cell showed. */
export type CellOutcome = {
  cell: Cell;
  sent: Sent;
  /** The response of another tenant in the same environment. */
  bystander: Sent;
  tookMs: number;
  isMet: boolean;
  /** The last response after the end of the fault. */
  recovered: Sent;
  /** Ids of requests without exactly one line of the access log. */
  unlogged: string[];
  /** Units that the caller was charged 18 minutes later, and whole responses that it got. */
  charged: number;
  answered: number;
  /** Of them, the ones whose charge could not be written, as the log states: free, or applied after all. */
  unpaid: number;
};

/** Calls that the request of a situation makes in the absence of faults. */
export type Recorded = { situation: Situation; calls: TableCall[] };

const modelOf = (at: number) => `vendor/cell-${at}`;

/** One environment, one tenant and one model for each situation, all of one age. */
const startBench = async (age: Age, situations: Situation[]) => {
  const clock = createRunningClock();
  const provider = await startProvider();
  const models = situations.map(({ end }, at) =>
    modelOn([targetAt(provider.url, { model: nameAt(end, at) })], { id: modelOf(at) }),
  );
  const shared = modelOn([targetAt(provider.url, { model: 'bystander' })], { id: BYSTANDER_MODEL });
  const fleet: Environments = await startEnvironments({
    models: [...models, shared],
    clock,
    offsets: [...situations, BYSTANDER].map(() => 0),
    tableTimeoutMs: 1_000,
  });
  const bystander = await fleet.createTenant();
  const tenants: Tenant[] = [];
  for (const _ of situations) tenants.push(await fleet.createTenant());
  const close = async () => {
    await fleet.close();
    await provider.close();
  };
  return { age, situations, clock, fleet, bystander, tenants, close };
};

type Bench = Awaited<ReturnType<typeof startBench>>;

const environmentOf = ({ fleet }: Bench, at: number): Environment => {
  const environment = fleet.environments[at];
  if (!environment) throw new Error(`no environment ${at}`);
  return environment;
};

const generate = (
  { url }: Environment,
  { family, isStream }: Situation,
  { key = '', model = '' }: { key?: string | undefined; model?: string },
): Promise<Sent> =>
  send(url, PATHS[family], {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: JSON.stringify({
      model,
      stream: isStream,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  });

const readUsage = ({ url }: Environment, key = ''): Promise<Sent> =>
  send(url, '/v1/usage', { headers: { 'x-api-key': key } });

/** The request of the cell. */
const ask = (bench: Bench, at: number): Promise<Sent> => {
  const environment = environmentOf(bench, at);
  const situation = bench.situations[at] ?? BYSTANDER;
  const key = bench.tenants[at]?.key;
  if (situation.end === 'its usage') return readUsage(environment, key);
  return generate(environment, situation, { key, model: modelOf(at) });
};

const askAsBystander = (bench: Bench, at: number): Promise<Sent> =>
  generate(environmentOf(bench, at), BYSTANDER, {
    key: bench.bystander.key,
    model: BYSTANDER_MODEL,
  });

/** Items of the second tenant: those that its requests touch in an environment of their own. */
const itemsOfBystander = async (bench: Bench): Promise<string[]> => {
  const spare = bench.situations.length;
  await askAsBystander(bench, spare);
  return environmentOf(bench, spare).dynamo.calls.map(({ key }) => key);
};

const openBreaker = async ({ fleet, clock }: Bench, target: string) => {
  const openUntil = clock.now() + HALF_OPEN_AFTER_MS;
  await fleet.stores.breakers.transitionBreaker(target, { openUntil, openings: 1 }, 0);
};

/** Brings every environment into the age of its situation. */
const prepare = async (bench: Bench): Promise<Sent[]> => {
  const { age, situations, clock } = bench;
  const asked: Sent[] = [];
  for (const [at, { end }] of situations.entries()) {
    asked.push(...(age === 'cold' ? [] : [await ask(bench, at)]));
    if (end === 'an answer to the probe') await openBreaker(bench, `primary/${nameAt(end, at)}`);
  }
  clock.advance(AGES[age] ?? 0);
  return asked;
};

const idOf = ({ headers }: Sent): string => String(headers['x-request-id']);

/** Repeats a request until it has its usual status, a few times at most. */
const untilUsual = async (
  usual: number,
  request: () => Promise<Sent>,
  most = RECOVERY_TRIES,
): Promise<Sent[]> => {
  const asked: Sent[] = [];
  for (let tries = 0; tries < most; tries += 1) {
    const sent = await request();
    asked.push(sent);
    if (sent.status === usual) break;
    await pause(RECOVERY_PAUSE_MS);
  }
  return asked;
};

const idsIn = ({ lines }: Environment, ...names: LogEvent[]): (string | undefined)[] =>
  lines()
    .filter(({ event }) => names.includes(event))
    .map(({ requestId }) => requestId);

/** Refunds whose retries continue after the response. */
const pendingRefundsIn = (environment: Environment): (string | undefined)[] => {
  const over = idsIn(environment, 'meter_refund_written', 'meter_refund_pending');
  return idsIn(environment, 'meter_refund_late').filter((id) => !over.includes(id));
};

/** Units whose charge or refund may still be retried: neither settled nor given up; unknown while the usage cannot be read. */
const countUnsettled = async (bench: Bench, at: number): Promise<number | undefined> => {
  const environment = environmentOf(bench, at);
  const look = await readUsage(environment, bench.tenants[at]?.key);
  if (look.status !== 200) return undefined;
  return (
    periodIn(look).reserved -
    idsIn(environment, 'meter_refund_pending', 'meter_charge_pending').length
  );
};

type Ran = Pick<CellOutcome, 'sent' | 'bystander' | 'tookMs' | 'isMet'> & {
  at: number;
  /** Responses to the same request after the end of the fault. */
  later: Sent[];
};

const runCell = async (
  bench: Bench,
  cell: Cell,
  { at, items }: { at: number; items: string[] },
): Promise<Ran> => {
  const environment = environmentOf(bench, at);
  const trouble = troubleFrom(cell, items);
  let isMet = false;
  proxyOf(environment, cell).decide((call) => {
    const found = trouble(call);
    isMet ||= found !== 'none';
    return found;
  });
  const startedAt = performance.now();
  const asked = ask(bench, at).then((sent) => ({ sent, tookMs: performance.now() - startedAt }));
  const [{ sent, tookMs }, bystander] = await Promise.all([asked, askAsBystander(bench, at)]);
  proxyOf(environment, cell).decide(() => 'none');
  const later = await untilUsual(usualOf(cell), () => ask(bench, at));
  await expect.poll(() => pendingRefundsIn(environment), SETTLING).toEqual([]);
  await expect.poll(() => countUnsettled(bench, at), SETTLING).toBeLessThanOrEqual(0);
  return { at, sent, bystander, tookMs, isMet, later };
};

const periodIn = (usage: Sent | undefined): { used: number; reserved: number } =>
  (parseJson(usage?.text ?? '') as { period: { used: number; reserved: number } }).period;

const unloggedIn = ({ lines }: Environment, sent: Sent[]): string[] => {
  const logged = lines()
    .filter(({ event }) => event === 'request')
    .map(({ requestId }) => requestId);
  return sent.map(idOf).filter((id) => logged.filter((other) => other === id).length !== 1);
};

/** How late a timer rings, in ms: the event loop has too much to do, or the machine. */
const measureLateness = async (): Promise<number> => {
  const startedAt = performance.now();
  await pause(TICK_MS);
  return performance.now() - startedAt - TICK_MS;
};

/**
 * Turns to run in, `width` at a time, and fewer while timers are late: a table has a second for a call, on an event loop
 * that all share.
 */
const createTurns = (width: number) => {
  let running = 0;
  const hasRoom = async () =>
    running < width && (running === 0 || (await measureLateness()) < LATE_MS);
  const wait = async () => {
    while (!(await hasRoom())) await pause(TICK_MS);
    running += 1;
  };
  let last = Promise.resolve();
  return async <T>(action: () => Promise<T>): Promise<T> => {
    last = last.then(wait);
    await last;
    try {
      return await action();
    } finally {
      running -= 1;
    }
  };
};

type Turns = ReturnType<typeof createTurns>;

const finishCell = async (bench: Bench, cell: Cell, ran: Ran, warmUp: Sent | undefined) => {
  const { at, later, ...rest } = ran;
  const environment = environmentOf(bench, at);
  const look = () => readUsage(environment, bench.tenants[at]?.key);
  const looks = await untilUsual(200, look, LOOKS);
  const own = [...(warmUp ? [warmUp] : []), rest.sent, ...later];
  const pendingCharges = idsIn(environment, 'meter_charge_pending');
  const isGeneration = cell.end !== 'its usage';
  if (isGeneration) for (const sent of own) assertEnd(cell, sent);
  return {
    ...rest,
    cell,
    recovered: later.at(-1) ?? rest.sent,
    unlogged: unloggedIn(environment, [...own, rest.bystander, ...looks]),
    charged: periodIn(looks.at(-1)).used,
    unpaid: own.filter((sent) => pendingCharges.includes(idOf(sent))).length,
    answered: isGeneration ? own.filter(isAnswered).length : 0,
  };
};

const runAge = async (age: Age, cells: Cell[], inTurn: Turns): Promise<CellOutcome[]> => {
  const bench = await startBench(age, cells);
  try {
    const items = await itemsOfBystander(bench);
    const warmUps = await prepare(bench);
    const running = cells.map((cell, at) => inTurn(() => runCell(bench, cell, { at, items })));
    const ran = await Promise.all(running);
    bench.clock.advance(REAPED_AFTER_MS);
    const outcomes: CellOutcome[] = [];
    for (const [at, cell] of cells.entries()) {
      const one = ran[at];
      if (one) outcomes.push(await inTurn(() => finishCell(bench, cell, one, warmUps[at])));
    }
    return outcomes;
  } finally {
    await bench.close();
  }
};

/** Cells in one set of environments, which share an embedded database. */
const SET_SIZE = 60;

const inSets = <T>(all: T[]): T[][] =>
  all.length <= SET_SIZE ? [all] : [all.slice(0, SET_SIZE), ...inSets(all.slice(SET_SIZE))];

/** Runs each cell in an environment that no other cell uses. */
export const runCells = async (cells: Cell[]): Promise<CellOutcome[]> => {
  const inTurn = createTurns(WIDTH);
  const outcomes: CellOutcome[] = [];
  for (const set of inSets(cells)) {
    const ages = AGE_NAMES.filter((age) => set.some((cell) => cell.age === age));
    const running = ages.map((age) =>
      runAge(
        age,
        set.filter((cell) => cell.age === age),
        inTurn,
      ),
    );
    outcomes.push(...(await Promise.all(running)).flat());
  }
  return outcomes;
};

/** Time for the writes that follow a response. */
const QUIET_MS = 100;

const recordCalls = async (bench: Bench, at: number): Promise<TableCall[]> => {
  const { dynamo, secrets } = environmentOf(bench, at);
  const before = { dynamo: dynamo.calls.length, secrets: secrets.calls.length };
  await ask(bench, at);
  await pause(QUIET_MS);
  return [...dynamo.calls.slice(before.dynamo), ...secrets.calls.slice(before.secrets)];
};

const recordAge = async (age: Age): Promise<Recorded[]> => {
  const situations = SITUATIONS.filter((situation) => situation.age === age);
  const bench = await startBench(age, situations);
  try {
    const isShared = isOneOf(await itemsOfBystander(bench));
    await prepare(bench);
    await pause(QUIET_MS);
    const recorded: Recorded[] = [];
    for (const [at, situation] of situations.entries()) {
      const calls = (await recordCalls(bench, at)).filter((call) => !isShared(call));
      recorded.push({ situation, calls });
    }
    return recorded;
  } finally {
    await bench.close();
  }
};

/** The calls of each situation while all dependencies work. */
export const recordSituations = async (): Promise<Recorded[]> =>
  (await Promise.all(AGE_NAMES.map(recordAge))).flat();
