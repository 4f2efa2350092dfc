// First: it installs `awslambda`, which the router looks for when it is made.
import '../lambdas/web/lambda-runtime.ts';

import { randomBytes } from 'node:crypto';
import { bundleConsole } from '#console';
import type { ConsoleFiles, ConsoleParts } from '../lambdas/admin/console.ts';
import type { Members } from '../lambdas/admin/operation.ts';
import type { AwsIdentity } from '../lambdas/aws/sign.ts';
import { createCatalog, type Model } from '../lambdas/catalog/catalog.ts';
import defaultModels from '../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../lambdas/catalog/parse-models.ts';
import { type Admin, createAdmin } from '../lambdas/create-admin.ts';
import { createRouter, type Router } from '../lambdas/create-router.ts';
import { DEFAULT_RUNBOOK_URL } from '../lambdas/env.ts';
import type { HttpHandler } from '../lambdas/http/create-http-handler.ts';
import { type HttpRequest, readEvent } from '../lambdas/http/read-event.ts';
import { encoded, writeResponse } from '../lambdas/http/write-response.ts';
import {
  type Authenticate,
  createAcceptsBody,
  createAuthenticate,
} from '../lambdas/keys/authenticate.ts';
import { createKeyLifecycle, type KeyLifecycle } from '../lambdas/keys/lifecycle.ts';
import type { Plan, PlanStore, StateMode } from '../lambdas/stores/plan-store.ts';
import { type Clock, DAY_MS, MINUTE_MS, systemClock } from '../lambdas/support/clock.ts';
import { pooled } from '../lambdas/support/ids.ts';
import type { Log } from '../lambdas/support/log.ts';
import { createHttpUpstream } from '../lambdas/upstreams/http-upstream.ts';
import type { ReadSecret } from '../lambdas/upstreams/read-secret.ts';
import { createSecretsManagerSecrets } from '../lambdas/upstreams/secrets-manager.ts';
import type { RequestHead } from '../lambdas/web/request-head.ts';
import { startServer } from '../lambdas/web/server.ts';
import type { UpstreamControl } from './embedded-upstream/recorder.ts';
import { startEmbeddedUpstream } from './embedded-upstream/server.ts';
import {
  createExportedUntil,
  createFreshHistory,
  createInFlight,
  type InFlight,
  watchRecords,
} from './fresh-history.ts';
import { createLocalAccess, isAdminPath } from './identify-local.ts';
import { atEmbeddedUpstream, localCredentials } from './local-catalog.ts';
import { type LocalStores, openStores } from './local-stores.ts';
import { openUnsettledDays } from './unsettled-days.ts';

export type LocalOptions = {
  /** Default 0: any free port. */
  port?: number;
  /** Default: the loopback address. */
  host?: string;
  /** What the operator has to send. Default: nothing, as everyone who reaches the loopback address is the operator. */
  adminSecret?: string | undefined;
  /** Default: the shipped catalog. */
  catalog?: Model[];
  /**
   * Credentials by the names that the catalog uses. If set, targets keep their addresses; otherwise the
   * embedded upstream serves every target.
   */
  secrets?: Record<string, string>;
  /** Reads the credentials as a JSON text. Default: `secrets`, or those of the embedded upstream. */
  readSecret?: ReadSecret;
  /** Sign the calls of targets that the function's role calls on AWS. */
  roleCredentials?: AwsIdentity['credentials'];
  log?: Log;
  clock?: Clock;
  /** Delay of the embedded upstream before every message, in milliseconds. */
  delayMs?: number;
  /** Closed with the router. @default stores in memory */
  stores?: LocalStores;
  /** Which responses are stored for 30 days. Default: those that plans store. */
  state?: StateMode;
  /** Whether webhooks reach this machine and its network. Default: they do not, as on AWS. */
  mayReachInner?: boolean;
  /** Members of the console. Default: none, since the loopback address needs no sign-in. */
  members?: Members;
  /** Overrides of the first key's plan: 600 requests per minute, 100,000 per month. */
  plan?: Partial<Plan>;
};

export type LocalRouter = {
  baseUrl: string;
  /** An API key of the project `local`; empty if the stores were used before, since no key can be read from them. */
  key: string;
  models: Model[];
  /** Creates another key with a separate plan and separate counters. */
  createKey(options?: KeyOptions): Promise<string>;
  /** Calls that the embedded upstream recorded, and the faults it injects. */
  upstreams: UpstreamControl;
  /** Accepts nothing new and waits for the responses in flight. */
  drain(): Promise<void>;
  close(): Promise<void>;
};

type KeyOptions = { plan?: Partial<Plan> };

/** High enough that no test or user reaches a limit by accident. */
const LOCAL_PLAN: Omit<Plan, 'id'> = { rpm: 600, quota: 100_000, period: 'month' };

/** Creates keys of the project `local`, each on a new plan unless `plan.id` names one. */
const createKeySeeder = ({ lifecycle, plans }: { lifecycle: KeyLifecycle; plans: PlanStore }) => {
  let count = 0;
  return async ({ plan = {} }: KeyOptions = {}): Promise<string> => {
    count += 1;
    const stored: Plan = { id: `local-${count}`, ...LOCAL_PLAN, ...plan };
    await plans.putPlan(stored);
    const { key } = await lifecycle.create({ projectId: 'local', planId: stored.id });
    return key;
  };
};

/** Requests whose responses come from the history, which is a run behind. */
const HISTORY_PATHS =
  /^\/(?:admin|dashboard\/api)\/(?:usage$|overview$|metrics$|targets$|checks$|exports\/focus$|projects\/[^/]+\/statements\/)/;

const readsHistory = ({ path, query }: HttpRequest): boolean =>
  HISTORY_PATHS.test(path) || (path === '/v1/usage' && Object.keys(query).length > 0);

/** The operator has no key. */
const createAcceptsBodyOfBoth = (authenticate: Authenticate) => {
  const acceptsBody = createAcceptsBody(authenticate);
  return (request: RequestHead) => isAdminPath(request.path) || acceptsBody(request);
};

type Served = {
  router: HttpHandler;
  admin: Admin;
  inFlight: InFlight;
  fresh: ReturnType<typeof createFreshHistory>;
};

/** Of compression: a page is worth more CPU than a response of the router, and its files are a tenth smaller than there. */
const PAGE_LEVEL = 6;

/** Serves both functions at one address, as the REST API does. On AWS a schedule runs the history. */
const withAdmin =
  ({ router, admin, inFlight, fresh }: Served): HttpHandler =>
  async (event, response, context) => {
    const request = 'source' in event ? event : readEvent(event);
    if (readsHistory(request)) await fresh.refresh();
    if (!isAdminPath(request.path)) return inFlight.track(() => router(event, response, context));
    const reply = await admin.handler(event, context);
    // A new project has no history until the next fold.
    if (request.method !== 'GET') fresh.change();
    await writeResponse(response, encoded(request, reply), PAGE_LEVEL);
  };

/** The console, bundled at the first request of its page: most starts serve none. */
const createLocalConsole = (token: string): ConsoleParts => {
  let files: ConsoleFiles | undefined;
  const readFiles = () => {
    files ??= bundleConsole();
    return files;
  };
  const settings = { stage: 'local', token, runbookUrl: DEFAULT_RUNBOOK_URL };
  return { readFiles, settings };
};

const ignore = () => {};
const NO_LOG: Log = { info: ignore, warn: ignore, error: ignore };

/** As the schedule of the stack does, a minute after the last run has ended. */
const repeatEvents = (router: Router, clock: Clock): (() => void) => {
  let isOver = false;
  let cancel = ignore;
  const schedule = () => {
    if (!isOver) cancel = clock.after(MINUTE_MS, () => void run());
  };
  const run = async () => {
    // What fails is repeated with the next one.
    await router.repeatEvents().catch(ignore);
    schedule();
  };
  schedule();
  return () => {
    isOver = true;
    cancel();
  };
};

/** Starts the router that runs on AWS, with the same stores, on local services. */
export const startLocal = async (options: LocalOptions = {}): Promise<LocalRouter> => {
  const { clock = systemClock, log = NO_LOG, stores = openStores(systemClock) } = options;
  const catalog = options.catalog ?? parseModels(defaultModels);
  const credentials = options.secrets ?? localCredentials(catalog);
  const embedded = await startEmbeddedUpstream({
    credentials: new Set(Object.values(credentials)),
    delayMs: options.delayMs ?? 0,
    clock,
    randomBytes,
  });
  const models = options.secrets ? catalog : atEmbeddedUpstream(catalog, embedded.baseUrl);
  const text = JSON.stringify(credentials);
  const { readSecret = async () => ({ text, version: 'local' }) } = options;
  const secrets = createSecretsManagerSecrets({
    readSecret,
    secretId: 'local-upstreams',
    clock,
    log,
  });
  const upstream = createHttpUpstream({
    secrets,
    roleCredentials: options.roleCredentials,
    clock,
  });
  const authenticate = createAuthenticate({ ...stores.parts, clock, log });
  const unsettled = await openUnsettledDays(stores.unsettled);
  const fresh = createFreshHistory(clock, unsettled);
  const inFlight = createInFlight(clock);
  let isNew = false;
  const { history } = stores.parts;
  const router = createRouter({
    catalog: createCatalog(models),
    ...stores.parts,
    state: options.state && { mode: options.state, keepMs: 30 * DAY_MS },
    mayReachInner: options.mayReachInner,
    records: watchRecords(stores.parts.records, { inFlight, unsettled }, fresh.change),
    history,
    authenticate,
    upstream,
    log,
    clock,
    randomBytes: pooled(randomBytes),
  });
  const token = randomBytes(24).toString('base64url');
  const access = createLocalAccess(token, options.adminSecret);
  const admin = createAdmin({
    stateMode: options.state,
    models,
    ...stores.parts,
    history,
    secrets,
    upstream,
    identify: access.identify,
    members: options.members,
    mayReachInner: options.mayReachInner,
    console: createLocalConsole(token),
    settledUntil: inFlight.settledUntil,
    exportedUntil: createExportedUntil(clock, inFlight, () => isNew),
    isUnsettled: unsettled.has,
    log,
    clock,
    randomBytes,
  });
  fresh.start(admin.history);
  const lifecycle = createKeyLifecycle({ ...stores.parts, clock, randomBytes });
  const createKey = createKeySeeder({ lifecycle, plans: stores.parts.plans });
  const closeServices = () => Promise.all([embedded.close(), stores.close()]);
  try {
    isNew = await stores.parts.projects.createProject({
      id: 'local',
      createdAt: clock.now(),
    });
    // The last records of an earlier process may have expired: a minute later they are deleted.
    if (!isNew) fresh.change();
    const key = isNew ? await createKey({ plan: { id: 'local', ...options.plan } }) : '';
    const handler = withAdmin({ router, admin, inFlight, fresh });
    const port = options.port ?? 0;
    const acceptsBody = createAcceptsBodyOfBoth(authenticate);
    const server = await startServer({
      handler,
      port,
      ...(options.host !== undefined && { host: options.host }),
      reject: access.reject,
      acceptsBody,
      clock,
      randomBytes,
    });
    const stopRepeating = repeatEvents(router, clock);
    return {
      baseUrl: server.url,
      key,
      models,
      createKey,
      upstreams: embedded.control,
      drain: async () => {
        await server.drain();
        await inFlight.whenIdle();
      },
      close: async () => {
        stopRepeating();
        await server.close();
        await fresh.close();
        await closeServices();
      },
    };
  } catch (error) {
    await closeServices();
    throw error;
  }
};
