import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import type { AwsIdentity } from '../../lambdas/aws/sign.ts';
import { type Catalog, createCatalog, type Model } from '../../lambdas/catalog/catalog.ts';
import { createRouter, type Router } from '../../lambdas/create-router.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { periodOf } from '../../lambdas/metering/limits.ts';
import type { AnswerStore } from '../../lambdas/stores/answer-store.ts';
import type { BreakerStore } from '../../lambdas/stores/notes.ts';
import type { ResponseStore } from '../../lambdas/stores/response-store.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { minuteOf, systemClock } from '../../lambdas/support/clock.ts';
import type { Log } from '../../lambdas/support/log.ts';
import { createCountAtProvider } from '../../lambdas/upstreams/count-at-provider.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { type ServerOptions, startServer } from '../../lambdas/web/server.ts';
import { createMemoryDatabase } from '../../local/database/memory.ts';
import { type LocalStores, openStores, TABLE_NAMES } from '../../local/local-stores.ts';
import { startDynamoStores } from './dynamo-stores.ts';
import { fixedSecrets } from './fixed-secrets.ts';
import { watchAnswers } from './leak-watch.ts';
import { type LogLine, parseLine } from './log-line.ts';
import { scanTables } from './scan-tables.ts';
import { createWatchedLog } from './watched-log.ts';

/** Routers that share their tables and a clock, as environments of one function do. */
export type Fleet = {
  /** Base address of each router. */
  urls: string[];
  /** What stands behind each address, for those who bring events of their own. */
  handlers: Router[];
  key: string;
  ids: { keyId: string; meterId: string };
  /** A key of another project on the same plan. */
  otherKey: string;
  stores: LocalStores['parts'];
  /** Address of the tables. @throws Error if they are in memory */
  tablesUrl(): string;
  /** All items as text, by the table's name. */
  readTables(): Promise<Record<string, string>>;
  logText(): string;
  lines(): LogLine[];
  /** Units charged to the key in this period. */
  charged(): Promise<number>;
  close(): Promise<void>;
};

export type FleetOptions = {
  models: Model[];
  /** In place of one made of the models. */
  catalog?: Catalog;
  clock: Clock;
  size?: number;
  /** Tables that have an address. In memory a call takes a tenth of the CPU. */
  onDynamo?: boolean;
  breakers?: BreakerStore;
  /** In place of the local store of kept responses; `endpoint` is that of the tables, which then have one. */
  answersAt?: (endpoint: string) => AnswerStore | Promise<AnswerStore>;
  /** In place of the local store of responses that callers store. */
  openResponses?: () => ResponseStore;
  /** Whether webhooks reach this machine. */
  mayReachInner?: boolean;
  toEvent?: ServerOptions['toEvent'];
  slowClients?: ServerOptions['slowClients'];
  secret?: string;
  /** Stage option `countTokens`. */
  countTokens?: 'estimate' | 'provider';
  /** Of the role, for targets with `auth: "iam"`. */
  roleCredentials?: AwsIdentity['credentials'];
  /** Stage option `traceparent`. */
  passesTraceparent?: boolean;
  /** Key of the stage option `who=hash`. */
  readWhoKey?: () => Promise<string>;
  /** In place of the watched one; `lines` then stay empty. */
  log?: Log;
};

const PLAN = { id: 'fleet', rpm: 1_000_000, quota: 1_000_000, period: 'month' } as const;

const hostOf = (baseUrl: string) => new URL(baseUrl).host;

type Tables = LocalStores & { endpoint?: string; read: Fleet['readTables'] };

const openInMemory = (): Tables => {
  const database = createMemoryDatabase();
  const textOf = async (table: string) =>
    JSON.stringify(await database.scan(table, { limit: Number.POSITIVE_INFINITY }));
  const read = async () => {
    const texts = Object.entries(TABLE_NAMES).map(async ([name, table]) => [
      name,
      await textOf(table),
    ]);
    return Object.fromEntries(await Promise.all(texts));
  };
  return { ...openStores(systemClock, database), read };
};

const openOnDynamo = async (): Promise<Tables> => {
  const stores = await startDynamoStores();
  return { ...stores, read: () => scanTables(stores.endpoint) };
};

export const startFleet = async (options: FleetOptions): Promise<Fleet> => {
  const { models, clock, size = 1, toEvent, secret = 'secret', slowClients = {} } = options;
  const isOnDynamo = options.onDynamo || options.answersAt !== undefined;
  const stores = isOnDynamo ? await openOnDynamo() : openInMemory();
  await stores.parts.plans.putPlan(PLAN);
  const lifecycle = createKeyLifecycle({ ...stores.parts, clock, randomBytes });
  const { key, record } = await lifecycle.create({ projectId: 'project', planId: PLAN.id });
  const other = await lifecycle.create({ projectId: 'other-project', planId: PLAN.id });
  // Tests poll both: the text is not joined, and no line is parsed, a second time.
  let written = '';
  const unparsed: string[] = [];
  const parsed: LogLine[] = [];
  const keep = (line: string) => {
    written += line;
    unparsed.push(line);
  };
  const answers = await options.answersAt?.(stores.endpoint ?? '');
  const create = () =>
    createRouter({
      ...stores.parts,
      breakers: options.breakers ?? stores.parts.breakers,
      openAnswers: answers ? () => answers : stores.parts.openAnswers,
      openResponses: options.openResponses ?? stores.parts.openResponses,
      mayReachInner: options.mayReachInner,
      catalog: options.catalog ?? createCatalog(models),
      upstream: createHttpUpstream({
        secrets: fixedSecrets(secret),
        roleCredentials: options.roleCredentials,
        clock,
      }),
      countAtProvider:
        options.countTokens === 'provider'
          ? createCountAtProvider({ secrets: fixedSecrets(secret), clock })
          : undefined,
      log: options.log ?? createWatchedLog(models, clock, keep),
      clock,
      randomBytes,
      passesTraceparent: options.passesTraceparent ?? false,
      readWhoKey: options.readWhoKey,
    });
  const handlers = Array.from({ length: size }, create);
  const servers = await Promise.all(
    handlers.map((handler) =>
      startServer({
        ...{ handler, port: 0, clock, randomBytes, slowClients },
        ...(toEvent && { toEvent }),
      }),
    ),
  );
  const hosts = models.flatMap(({ targets }) => targets.map(({ baseUrl }) => hostOf(baseUrl)));
  for (const { url } of servers) watchAnswers(url, hosts);
  const { keyId, meterId } = record;
  return {
    urls: servers.map(({ url }) => url),
    handlers,
    key,
    ids: { keyId, meterId },
    otherKey: other.key,
    stores: stores.parts,
    tablesUrl: () => {
      if (stores.endpoint === undefined) throw new Error('These tables are in memory.');
      return stores.endpoint;
    },
    readTables: stores.read,
    logText: () => written,
    lines: () => {
      for (const line of unparsed.splice(0)) parsed.push(parseLine(line));
      return [...parsed];
    },
    charged: async () => {
      const now = clock.now();
      const period = periodOf(PLAN.period, now).label;
      const at = { meterId, keyId, minute: minuteOf(now), period, now };
      return (await stores.parts.meters.readUsage(at)).periodCount;
    },
    close: async () => {
      await Promise.all(servers.map(({ close }) => close()));
      await stores.close();
    },
  };
};
