import { createPrefer } from '#late/preference';
import {
  createCancel,
  createCountTokens,
  createExplainRequest,
  createExplainSession,
  createGetModel,
  createGetUsage,
  createListModels,
} from '#late/reports';
import { createTakeSeat } from '#late/seat';
import { createReport } from '#late/thresholds';
import type { Catalog } from './catalog/catalog.ts';
import { createCancellations } from './endpoints/cancellations.ts';
import { createFetchAnswer } from './endpoints/fetch-answer.ts';
import { createGenerate } from './endpoints/generate.ts';
import { createHttpHandler, type HttpHandler } from './http/create-http-handler.ts';
import { type Authenticate, createAuthenticate } from './keys/authenticate.ts';
import { createMeter } from './metering/meter.ts';
import type { Announce } from './metering/thresholds.ts';
import type { ReadWhoKey } from './records/hash-who.ts';
import { createRecorder, createRefusals } from './records/recorder.ts';
import { createSeal } from './records/seal.ts';
import { createReplay } from './replay/replay.ts';
import { createBreaker } from './routing/breakers/breaker.ts';
import { createCalibrations } from './routing/calibrations.ts';
import { createFailover } from './routing/failover.ts';
import { createHealingUpstream } from './routing/healing-upstream.ts';
import { createLessons } from './routing/lessons.ts';
import { createStateEndpoints } from './state/endpoints.ts';
import type { StateMode } from './stores/plan-store.ts';
import type { RouterStores } from './stores/router-stores.ts';
import { type Clock, DAY_MS } from './support/clock.ts';
import type { RandomBytes } from './support/ids.ts';
import type { Log } from './support/log.ts';
import { atFirstCall, once } from './support/memo.ts';
import type { CountAtProvider } from './upstreams/count-at-provider.ts';
import type { Upstream } from './upstreams/upstream.ts';

export type RouterParts = RouterStores & {
  catalog: Catalog;
  /** Where events of usage go. @default the log alone */
  announce?: Announce | undefined;
  /** Milliseconds that a response is kept. @default 24 hours */
  keepMs?: number | undefined;
  /**
   * Which responses are stored for keys whose plans do not say, and for how many milliseconds.
   * @default 'off', and 30 days for plans that store them
   */
  state?: { mode: StateMode; keepMs: number } | undefined;
  /**
   * Whether the webhooks of responses reach this machine and its network, also without TLS.
   * @default false
   */
  mayReachInner?: boolean | undefined;
  upstream: Upstream;
  /** Asked for the counts of `count_tokens`. @default none: they are estimated */
  countAtProvider?: CountAtProvider | undefined;
  /**
   * For servers that check keys before a body is read, and share its cache.
   * @default one on `keys` and `plans`
   */
  authenticate?: Authenticate;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
  /** Origins of web pages that may call. @default none */
  corsOrigins?: readonly string[];
  /** Whether upstreams get the caller's `traceparent`. @default false */
  passesTraceparent?: boolean;
  /**
   * Key of the hashes of users, sessions and agents.
   * @default none: they are kept as they were sent
   */
  readWhoKey?: ReadWhoKey | undefined;
};

/** Takes requests; `repeatEvents` sends what is still owed to webhooks, which a schedule runs. */
export type Router = HttpHandler & { repeatEvents(): Promise<void> };

/** Composition root of the router, on Lambda, locally and in tests. */
export const createRouter = ({
  catalog,
  countAtProvider,
  keys,
  plans,
  meters,
  breakers,
  cancels,
  lessons: lessonStore,
  receipts,
  records,
  history,
  thresholds,
  budgets,
  announce = async () => {},
  openAnswers,
  keepMs = DAY_MS,
  openResponses,
  openShares,
  openWebhooks,
  mayReachInner = false,
  state: stage = { mode: 'off', keepMs: 30 * DAY_MS },
  upstream,
  log,
  clock,
  randomBytes,
  authenticate = createAuthenticate({ keys, plans, clock, log }),
  corsOrigins,
  passesTraceparent,
  readWhoKey,
}: RouterParts): Router => {
  const report = once(() => createReport({ store: thresholds, budgets, announce, clock, log }));
  const meter = createMeter({ store: meters, clock, log, report });
  const breaker = createBreaker({ store: breakers, upstream, clock, randomBytes, log });
  const lessons = createLessons({ store: lessonStore, clock, log });
  const calibrations = createCalibrations({ store: receipts, clock });
  const failover = createFailover({ breaker });
  const cancellations = createCancellations({ cancels, keys, meters, clock });
  const fetchAnswer = createFetchAnswer({
    upstream: createHealingUpstream({ upstream, lessons, clock, log }),
    failover,
    cancellations,
    clock,
    log,
    passesTraceparent,
    takeSeat:
      openShares && atFirstCall(() => createTakeSeat({ store: openShares(), clock, randomBytes })),
  });
  const prefer = atFirstCall(() => createPrefer({ store: openShares?.(), clock, randomBytes }));
  // The figures are read while the first request is authenticated.
  for (const model of catalog.modelsFor({}, clock.now())) if (model.prefer) prefer(model, '');
  const refusals = createRefusals({ store: records, clock, randomBytes });
  const seal = createSeal({ store: records, clock, randomBytes });
  const recorder = createRecorder({ store: records, refusals, clock, log, seal, readWhoKey });
  const replay = createReplay(openAnswers && { openAnswers, meter, clock, log, keepMs });
  const generate = createGenerate({
    catalog,
    calibrations,
    prefer,
    replay,
    meter,
    lessons,
    prefetched: [lessons, breaker, upstream],
    fetchAnswer,
    recorder,
    readWhoKey,
    clock,
  });
  const countTokens = atFirstCall(() =>
    createCountTokens({ catalog, calibrations, countAtProvider, meter, breaker }),
  );
  const { repeatEvents, ...stateEndpoints } = createStateEndpoints({
    ...{ ...stage, openResponses, openWebhooks, mayReachInner },
    ...{ generate, countTokens, meter, cancellations, clock, log },
  });
  const endpoints = {
    generate,
    ...stateEndpoints,
    countTokens,
    cancel: atFirstCall(() => createCancel({ cancellations, meter })),
    listModels: atFirstCall(() => createListModels({ catalog, meter })),
    getModel: atFirstCall(() => createGetModel({ catalog, meter })),
    usage: atFirstCall(() => createGetUsage({ meter, history, budgets })),
    explainRequest: atFirstCall(() => createExplainRequest({ meter, records })),
    explainSession: atFirstCall(() => createExplainSession({ meter, records, readWhoKey })),
  };
  const handler = createHttpHandler({
    ...{ endpoints, authenticate, refusals, log, clock, randomBytes, corsOrigins },
  });
  return Object.assign(handler, { repeatEvents });
};
