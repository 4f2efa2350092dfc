// First: it installs `awslambda`, which the handler looks for when it is made.
import '../../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { createCatalog } from '../../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../../lambdas/create-router.ts';
import { createAuthenticate, LOOK_UP_TIMEOUT_MS } from '../../../lambdas/keys/authenticate.ts';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import { periodOf } from '../../../lambdas/metering/limits.ts';
import { createDynamoClient } from '../../../lambdas/stores/dynamo/client.ts';
import { createDynamoStores } from '../../../lambdas/stores/dynamo/stores.ts';
import { minuteOf, systemClock } from '../../../lambdas/support/clock.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import { createReadSecret } from '../../../lambdas/upstreams/read-secret.ts';
import { createSecretsManagerSecrets } from '../../../lambdas/upstreams/secrets-manager.ts';
import { startServer } from '../../../lambdas/web/server.ts';
import { listen } from '../../../local/loopback.ts';
import { startDynamoProxy, type TableCall } from '../../metering/dynamo-proxy.ts';
import { TABLE_NAMES } from '../../support/dynamo.ts';
import { startDynamoStores } from '../../support/dynamo-stores.ts';
import { startEmbeddedSecrets } from '../../support/embedded-secrets.ts';
import { begin, finish } from '../../support/fleet-upstream.ts';
import { CANARIES, watchAnswers } from '../../support/leak-watch.ts';
import { LOCAL_AWS } from '../../support/local-aws.ts';
import { UPSTREAM_SECRET } from '../../support/local-upstream.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { type Sent, send } from '../../support/send.ts';
import { createWatchedLog } from '../../support/watched-log.ts';
import { createFreezableClock } from './clock.ts';
import { type Cut, startWire } from './wire.ts';

const PLAN = { id: 'frozen', rpm: 1_000_000, quota: 1_000_000, period: 'month' } as const;
const MODEL = 'vendor/model';

/** A moment of a request. */
export type Moment = string;

/** Tables, secret and provider of all environments, which never fail. */
export const startWorld = async () => {
  const stores = await startDynamoStores();
  const vault = await startEmbeddedSecrets({
    [UPSTREAM_SECRET]: JSON.stringify({ secret: CANARIES.upstreamKey }),
  });
  await stores.parts.plans.putPlan(PLAN);
  /** Texts of the requests that have arrived. */
  const asked: string[] = [];
  const watchers = new Map<string, (moment: Moment) => void>();
  const meet = (text: string, moment: Moment) =>
    watchers.get(text.split(' ', 1)[0] ?? '')?.(moment);
  const provider = await listen(
    createServer(async (request, response) => {
      const { messages } = (await json(request)) as { messages: { content: string }[] };
      const text = messages[0]?.content ?? '';
      asked.push(text);
      meet(text, 'the provider has the request');
      begin(response);
      // Long enough for the first words to arrive at the caller.
      await pause(20);
      meet(text, 'the first words were sent');
      finish(response);
    }),
  );
  return {
    stores,
    vault,
    provider,
    asked,
    /** Calls `onMoment` at the provider's moments of requests whose text begins with the name. */
    watch: (name: string, onMoment: (moment: Moment) => void) => {
      watchers.set(name, onMoment);
    },
    close: async () => {
      await provider.close();
      await vault.close();
      await stores.close();
    },
  };
};

export type World = Awaited<ReturnType<typeof startWorld>>;

/** Of a call to a table, the nth of its kind. */
export const momentOf = ({ operation, table }: TableCall, nth: number): Moment =>
  `${operation} of ${table} ${nth}`;

/** One environment of the function, on connections that can be cut. */
export const startEnvironment = async (world: World, name: string) => {
  const clock = createFreezableClock();
  const proxy = await startDynamoProxy(world.stores.endpoint);
  const wires = await Promise.all(
    [proxy.url, world.vault.endpoint, world.provider.url].map(startWire),
  );
  const [tables, secret, upstream] = wires.map(({ url }) => url);
  const client = createDynamoClient({ ...LOCAL_AWS, endpoint: tables ?? '', clock });
  const lines: string[] = [];
  const models = [modelOn([targetAt(upstream ?? '', { upstream: name })], { id: MODEL })];
  const log = createWatchedLog(models, clock, (line) => lines.push(line));
  const own = createDynamoStores({ client, tableNames: TABLE_NAMES });
  const readSecret = createReadSecret({ ...LOCAL_AWS, endpoint: secret ?? '', clock });
  const secrets = createSecretsManagerSecrets({
    readSecret,
    secretId: UPSTREAM_SECRET,
    clock,
    log,
  });
  const handler = createRouter({
    catalog: createCatalog(models),
    ...own,
    authenticate: createAuthenticate({ ...own, clock, timeoutMs: LOOK_UP_TIMEOUT_MS }),
    upstream: createHttpUpstream({ secrets, clock }),
    log,
    clock,
    randomBytes,
  });
  const server = await startServer({ handler, port: 0, clock: systemClock, randomBytes });
  watchAnswers(server.url, [new URL(upstream ?? '').host]);
  const { parts } = world.stores;
  const lifecycle = createKeyLifecycle({ ...parts, clock, randomBytes });
  const { key, record } = await lifecycle.create({ projectId: name, planId: PLAN.id });

  const post = (body: string): Promise<Sent> =>
    send(server.url, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'x-api-key': key },
      body,
    });
  return {
    clock,
    proxy,
    lines,
    ask: (text: string, isStream: boolean) =>
      post(
        JSON.stringify({
          ...{ model: MODEL, stream: isStream, max_tokens: 10 },
          messages: [{ role: 'user', content: text }],
        }),
      ),
    /** Ends before its look-ups. */
    askInvalid: () => post('{'),
    pauseKey: () => parts.keys.changeKey(record.hash, { status: 'paused' }),
    cut: (how: Cut) => {
      for (const wire of wires) wire.cut(how);
    },
    /** Units that are charged and reserved. */
    counts: async () => {
      const now = clock.now();
      const { keyId, meterId } = record;
      const period = periodOf(PLAN.period, now).label;
      const at = { meterId, keyId, minute: minuteOf(now), period, now };
      await parts.meters.reap(meterId, now);
      const { periodCount, reservedCount } = await parts.meters.readUsage(at);
      return { charged: periodCount - reservedCount, reserved: reservedCount };
    },
    close: async () => {
      proxy.decide(() => 'none');
      await server.close();
      client.destroy();
      await Promise.all(wires.map(({ close }) => close()));
      await proxy.close();
    },
  };
};

export type FrozenEnvironment = Awaited<ReturnType<typeof startEnvironment>>;
