/**
 * Many streams for a long time, through a router in a process of its own: run it with
 * `npm run soak:load`. SOAK_STREAMS (500), SOAK_SECONDS (600) and SOAK_PACE_MS (an event of a stream every
 * 500 ms) change it. It prints a table and exits with 1 when a limit of it is broken.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { periodOf } from '../../lambdas/metering/limits.ts';
import { minuteOf, systemClock } from '../../lambdas/support/clock.ts';
import type { LocalStores } from '../../local/local-stores.ts';
import { startDynamoStores } from '../support/dynamo-stores.ts';
import type { ClientsMessage, ClientsOrder } from './load-clients.ts';
import { loadModels } from './load-models.ts';
import type { RouterMessage, RouterOrder, RouterReading } from './load-router.ts';
import type { StreamResult } from './load-stream.ts';
import { formatLine, linesOf } from './load-table.ts';
import type { UpstreamMessage, UpstreamOrder } from './load-upstream.ts';

const { SOAK_STREAMS = '500', SOAK_SECONDS = '600', SOAK_PACE_MS = '500' } = process.env;
/**
 * Arguments of Node for the router's process: a heap as small as a small function's. Left alone V8 does not
 * tidy up while memory is to be had, and 500 streams hold 390 MB, of which about half is alive.
 */
const { SOAK_ROUTER_ARGS = '--max-semi-space-size=8 --max-old-space-size=160' } = process.env;

const streams = Number(SOAK_STREAMS);
const seconds = Number(SOAK_SECONDS);
const paceMs = Number(SOAK_PACE_MS);

const SECRET = 'secret';
const PLAN = { id: 'load', rpm: 1_000_000, quota: 1_000_000_000, period: 'month' } as const;
/** How long sockets may take to close at the end. */
const CLOSE_MS = 10_000;

const start = (file: string, args: string[] = []): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: args });

/** The next message of a process. @throws Error when it ends instead */
const heard = async <Message>(child: ChildProcess): Promise<Message> => {
  const over = new AbortController();
  const { signal } = over;
  const exited = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`a process ended with ${code}`);
  });
  exited.catch(() => undefined);
  try {
    const message = once(child, 'message', { signal }) as Promise<[Message]>;
    const [first] = await Promise.race([message, exited]);
    return first;
  } finally {
    over.abort();
  }
};

const ask = <Message>(child: ChildProcess, order: object): Promise<Message> => {
  const answer = heard<Message>(child);
  child.send(order);
  return answer;
};

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.disconnect();
  await exited;
};

const readingOf = async (router: ChildProcess): Promise<RouterReading> => {
  const message = await ask<RouterMessage>(router, {});
  if (!('reading' in message)) throw new Error('the router gave no reading');
  return message.reading;
};

const createKey = async ({ parts }: LocalStores) => {
  await parts.plans.putPlan(PLAN);
  const lifecycle = createKeyLifecycle({ ...parts, clock: systemClock, randomBytes });
  const { key, record } = await lifecycle.create({ projectId: 'load', planId: PLAN.id });
  const charged = async () => {
    const now = systemClock.now();
    const { keyId, meterId } = record;
    const period = periodOf(PLAN.period, now).label;
    const at = { meterId, keyId, minute: minuteOf(now), period, now };
    return (await parts.meters.readUsage(at)).periodCount;
  };
  return { key, charged };
};

/** Runs the callers to their end and reads the router every second meanwhile. */
const load = async (router: ChildProcess, order: ClientsOrder) => {
  const clients = start('load-clients.ts');
  const results: StreamResult[] = [];
  const readings: RouterReading[] = [];
  let isDone = false;
  const done = new Promise<void>((resolve, reject) => {
    clients.on('message', (message: ClientsMessage) => {
      if ('result' in message) results.push(message.result);
      else resolve();
    });
    clients.once('exit', (code) => reject(new Error(`the callers ended with ${code}`)));
  }).finally(() => {
    isDone = true;
  });
  clients.send(order);
  while (!isDone) {
    readings.push(await readingOf(router));
    await Promise.race([done, sleep(1000)]);
  }
  await done;
  return { results, readings };
};

const untilNone = async (count: () => Promise<number>): Promise<number> => {
  const until = performance.now() + CLOSE_MS;
  let left = await count();
  while (left > 0 && performance.now() < until) {
    await sleep(200);
    left = await count();
  }
  return left;
};

const run = async () => {
  const stores = await startDynamoStores();
  const { key, charged } = await createKey(stores);
  const upstream = start('load-upstream.ts');
  const order: UpstreamOrder = { secret: SECRET, paceMs };
  const ready = await ask<UpstreamMessage>(upstream, order);
  if (!('urls' in ready)) throw new Error('the upstream did not start');
  const router = start('load-router.ts', SOAK_ROUTER_ARGS.split(' ').filter(Boolean));
  const models = loadModels((protocol) => ready.urls[protocol]);
  const routerOrder: RouterOrder = { dynamo: stores.endpoint, models, secret: SECRET };
  const served = await ask<RouterMessage>(router, routerOrder);
  if (!('url' in served)) throw new Error('the router did not start');
  const loaded = await load(router, { url: served.url, key, streams, seconds, paceMs });
  const callsLeft = await untilNone(async () => {
    const message = await ask<UpstreamMessage>(upstream, {});
    return 'calls' in message ? message.calls.open : Number.NaN;
  });
  const units = await charged();
  await end(upstream);
  await stores.close();
  const socketsLeft = await untilNone(async () => (await readingOf(router)).sockets);
  await end(router);
  return {
    ...loaded,
    callsLeft,
    socketsLeft,
    charged: units,
    paceMs,
    streams,
    seconds,
    args: SOAK_ROUTER_ARGS,
  };
};

const lines = linesOf(await run());
for (const line of lines) process.stdout.write(`${formatLine(line)}\n`);
process.exitCode = lines.some(({ isBroken }) => isBroken) ? 1 : 0;
