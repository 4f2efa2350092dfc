import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createCatalog, type Model } from '../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../lambdas/create-router.ts';
import type { HttpHandler } from '../../lambdas/http/create-http-handler.ts';
import { createAuthenticate, LOOK_UP_TIMEOUT_MS } from '../../lambdas/keys/authenticate.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { periodOf } from '../../lambdas/metering/limits.ts';
import { createDynamoStores } from '../../lambdas/stores/dynamo/stores.ts';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { minuteOf } from '../../lambdas/support/clock.ts';
import { startServer } from '../../lambdas/web/server.ts';
import type { LocalStores } from '../../local/local-stores.ts';
import { type DynamoProxy, startDynamoProxy } from '../metering/dynamo-proxy.ts';
import { TABLE_NAMES } from './dynamo.ts';
import { startDynamoStores } from './dynamo-stores.ts';
import { startEmbeddedSecrets } from './embedded-secrets.ts';
import { CANARIES, watchAnswers } from './leak-watch.ts';
import { createLocalDynamoClient, LOCAL_AWS } from './local-aws.ts';
import { createLocalUpstream, UPSTREAM_SECRET } from './local-upstream.ts';
import { type LogLine, parseLine } from './log-line.ts';
import { createWatchedLog } from './watched-log.ts';

/** One environment of the function: its own clients, caches and clock; tables and secret are shared. */
export type Environment = {
  url: string;
  /** What is behind the address, for tests that invoke it as Lambda does. */
  handler: HttpHandler;
  /** The way to the tables; `decide` makes it misbehave for this environment alone. */
  dynamo: DynamoProxy;
  /** The way to Secrets Manager; its calls are the reads of the secret. */
  secrets: DynamoProxy;
  lines(): LogLine[];
};

export type Tenant = {
  key: string;
  keyId: string;
  /** Units charged in the current month. */
  charged(): Promise<number>;
};

export type EnvironmentsOptions = {
  models: Model[];
  /** The models of one environment, where it reaches the same targets in another way. */
  modelsOf?: (environment: number) => Model[];
  /** Shared time; each environment adds its offset. */
  clock: Clock;
  /** Milliseconds by which the clock of each environment is ahead; one environment per number. */
  offsets?: number[];
  /** The first value of the secret. */
  credentials?: Record<string, string>;
  /** Milliseconds that one call of the tables may take; long by default, since all share an event loop. */
  tableTimeoutMs?: number;
};

const OFFSETS = [0, 400, -700, 1_200];
const TABLE_TIMEOUT_MS = 30_000;
const WIDE_PLAN: Omit<Plan, 'id'> = { rpm: 1_000_000, quota: 1_000_000, period: 'month' };

type EnvironmentParts = Required<
  Pick<EnvironmentsOptions, 'models' | 'clock' | 'tableTimeoutMs'>
> & {
  endpoints: { dynamo: string; secrets: string };
};

const startEnvironment = async ({ models, clock, tableTimeoutMs, endpoints }: EnvironmentParts) => {
  const dynamo = await startDynamoProxy(endpoints.dynamo);
  const secrets = await startDynamoProxy(endpoints.secrets);
  const client = createLocalDynamoClient(dynamo.url, tableTimeoutMs);
  const written: string[] = [];
  const log = createWatchedLog(models, clock, (line) => written.push(line));
  const stores = createDynamoStores({ client, tableNames: TABLE_NAMES });
  const isAsOnAws = tableTimeoutMs < TABLE_TIMEOUT_MS;
  const lookUp = { ...stores, clock, ...(isAsOnAws && { timeoutMs: LOOK_UP_TIMEOUT_MS }) };
  const handler = createRouter({
    catalog: createCatalog(models),
    ...stores,
    authenticate: createAuthenticate(lookUp),
    upstream: createLocalUpstream({ endpoint: secrets.url, clock, log }),
    log,
    clock,
    randomBytes,
  });
  const server = await startServer({ handler, port: 0, clock, randomBytes });
  watchAnswers(
    server.url,
    models.flatMap(({ targets }) => targets.map(({ baseUrl }) => new URL(baseUrl).host)),
  );
  const environment: Environment = {
    url: server.url,
    handler,
    dynamo,
    secrets,
    lines: () => written.map(parseLine),
  };
  const close = async () => {
    for (const proxy of [dynamo, secrets]) proxy.decide(() => 'none');
    await server.close();
    client.destroy();
    await Promise.all([dynamo.close(), secrets.close()]);
  };
  return { environment, close };
};

const createTenants = ({ parts }: LocalStores, clock: Clock) => {
  const lifecycle = createKeyLifecycle({ ...parts, clock, randomBytes });
  let count = 0;
  /** A key of a new project on a new plan. */
  return async (plan: Partial<Omit<Plan, 'id'>> = {}): Promise<Tenant> => {
    count += 1;
    const stored: Plan = { id: `plan-${count}`, ...WIDE_PLAN, ...plan };
    await parts.plans.putPlan(stored);
    const { key, record } = await lifecycle.create({
      projectId: `project-${count}`,
      planId: stored.id,
    });
    const { keyId, meterId } = record;
    const charged = async () => {
      const now = clock.now();
      const period = periodOf(stored.period, now).label;
      const at = { meterId, keyId, minute: minuteOf(now), period, now };
      return (await parts.meters.readUsage(at)).periodCount;
    };
    return { key, keyId, charged };
  };
};

/** Starts four environments, or one per offset, on the same tables and the same secret. */
export const startEnvironments = async (options: EnvironmentsOptions) => {
  const { models, clock, offsets = OFFSETS, tableTimeoutMs = TABLE_TIMEOUT_MS } = options;
  const { credentials = { secret: CANARIES.upstreamKey } } = options;
  const stores = await startDynamoStores();
  const vault = await startEmbeddedSecrets({ [UPSTREAM_SECRET]: JSON.stringify(credentials) });
  const operator = new SecretsManagerClient({ ...LOCAL_AWS, endpoint: vault.endpoint });
  const started = await Promise.all(
    offsets.map((offset, environment) =>
      startEnvironment({
        models: options.modelsOf?.(environment) ?? models,
        clock: { ...clock, now: () => clock.now() + offset },
        tableTimeoutMs,
        endpoints: { dynamo: stores.endpoint, secrets: vault.endpoint },
      }),
    ),
  );
  return {
    environments: started.map(({ environment }) => environment),
    createTenant: createTenants(stores, clock),
    stores: stores.parts,
    /** Stores a new version of the secret, as an operator does. */
    putCredentials: async (value: Record<string, string>): Promise<void> => {
      const SecretString = JSON.stringify(value);
      await operator.send(new PutSecretValueCommand({ SecretId: UPSTREAM_SECRET, SecretString }));
    },
    close: async () => {
      await Promise.all(started.map(({ close }) => close()));
      operator.destroy();
      await Promise.all([vault.close(), stores.close()]);
    },
  };
};

export type Environments = Awaited<ReturnType<typeof startEnvironments>>;
