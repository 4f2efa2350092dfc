// First: it installs `awslambda`, which the handler looks for when it is made.
import '../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { createCatalog, type Model, parseModels } from '../lambdas/catalog/catalog.ts';
import defaultModels from '../lambdas/catalog/models.json' with { type: 'json' };
import { createAdmin } from '../lambdas/create-admin.ts';
import { createRouter } from '../lambdas/create-router.ts';
import { createKeyLifecycle } from '../lambdas/keys/lifecycle.ts';
import type { Plan } from '../lambdas/stores/plan-store.ts';
import { type Clock, systemClock } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import { startServer } from '../lambdas/web/server.ts';
import { createKeySeeder, type KeyWishes } from './create-key-seeder.ts';
import { startEmbeddedSecrets } from './embedded-secrets.ts';
import type { UpstreamControl } from './embedded-upstream/recorder.ts';
import { startEmbeddedUpstream } from './embedded-upstream/server.ts';
import { atEmbeddedUpstream, localCredentials } from './local-catalog.ts';
import { startLocalStores } from './local-stores.ts';
import { createLocalUpstream, UPSTREAM_SECRET } from './local-upstream.ts';
import { localOperator, withAdmin } from './with-admin.ts';

export type LocalOptions = {
  /** 0, the default, takes any free port. */
  port?: number;
  /** The default catalog unless given. */
  catalog?: Model[];
  /**
   * Credentials by the names the catalog gives them. With them the targets keep their own addresses;
   * without them every target is served by the embedded upstream.
   */
  secrets?: Record<string, string>;
  log?: Log;
  clock?: Clock;
  /** Pause of the embedded upstream before every message, in milliseconds. */
  delayMs?: number;
  /** What differs from the plan of the first key: 600 a minute, 100,000 a month. */
  plan?: Partial<Plan>;
};

export type LocalRouter = {
  baseUrl: string;
  /** A working key. */
  key: string;
  models: Model[];
  /** Another key, on a plan and with counters of its own. */
  createKey(wishes?: KeyWishes): Promise<string>;
  /** What the embedded upstreams saw, and the faults they are told to have. */
  upstreams: UpstreamControl;
  /** Addresses of the stand-ins, for AWS clients. */
  endpoints: { dynamo: string; secrets: string };
  close(): Promise<void>;
};

const silence = () => {};
const SILENT: Log = { info: silence, warn: silence, error: silence };

/** The router that AWS runs, with the same stores and clients, on stand-ins of their services. */
export const startLocal = async (options: LocalOptions = {}): Promise<LocalRouter> => {
  const { clock = systemClock, log = SILENT } = options;
  const ownCatalog = options.catalog ?? parseModels(defaultModels);
  const credentials = options.secrets ?? localCredentials(ownCatalog);
  const [stores, secrets, embedded] = await Promise.all([
    startLocalStores(),
    startEmbeddedSecrets({ [UPSTREAM_SECRET]: JSON.stringify(credentials) }),
    startEmbeddedUpstream({
      credentials: new Set(Object.values(credentials)),
      delayMs: options.delayMs ?? 0,
      clock,
      randomBytes,
    }),
  ]);
  const models = options.secrets ? ownCatalog : atEmbeddedUpstream(ownCatalog, embedded.baseUrl);
  const upstream = createLocalUpstream({ endpoint: secrets.endpoint, clock, log });
  const router = createRouter({
    catalog: createCatalog(models),
    ...stores.parts,
    upstream,
    log,
    clock,
    randomBytes,
  });
  const admin = createAdmin({
    models,
    ...stores.parts,
    operatorOf: localOperator,
    log,
    clock,
    randomBytes,
  });
  const lifecycle = createKeyLifecycle({ ...stores.parts, clock, randomBytes });
  const createKey = createKeySeeder({ lifecycle, plans: stores.parts.plans });
  const standIns = [embedded, stores, secrets];
  const closeStandIns = () => Promise.all(standIns.map(({ close }) => close()));
  try {
    await stores.parts.projects.createProject({ id: 'local', createdAt: clock.now() });
    const key = await createKey({ plan: { id: 'local', ...options.plan } });
    const handler = withAdmin({ router, admin });
    const server = await startServer({ handler, port: options.port ?? 0, clock, randomBytes });
    return {
      baseUrl: server.url,
      key,
      models,
      createKey,
      upstreams: embedded.control,
      endpoints: { dynamo: stores.endpoint, secrets: secrets.endpoint },
      close: async () => {
        await server.close();
        await closeStandIns();
      },
    };
  } catch (error) {
    await closeStandIns();
    throw error;
  }
};
