import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Endpoint } from '../../lambdas/endpoints/endpoint.ts';
import { createHttpHandler } from '../../lambdas/http/create-http-handler.ts';
import type { Endpoints } from '../../lambdas/http/stages.ts';
import { createAcceptsBody, createAuthenticate } from '../../lambdas/keys/authenticate.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { createRefusals } from '../../lambdas/records/recorder.ts';
import { ENDPOINT_NAMES } from '../../lambdas/routes.ts';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { type ServerOptions, startServer } from '../../lambdas/web/server.ts';
import { storesOn } from './dynamo.ts';
import { watchAnswers } from './leak-watch.ts';
import { type LogLine, parseLine } from './log-line.ts';
import { startMemory } from './memory-stores.ts';
import { createWatchedLog } from './watched-log.ts';

/** Answers with what it was called with. */
const echo: Endpoint = async ({ protocol, caller, body, source, pathParameter }) => ({
  status: 200,
  body: {
    family: protocol.name,
    project: caller.projectId,
    body: body ?? null,
    bodyBytes: source.bytes,
    pathParameter: pathParameter ?? null,
  },
});

const echoes = Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, echo])) as Endpoints;

export type Edge = {
  url: string;
  key: string;
  /** Lookups of keys in the table so far. */
  reads(): number;
  /** Parsed log lines so far. */
  lines: LogLine[];
  logText(): string;
  close(): Promise<void>;
};

/** The real stack over real stores, with endpoints that echo unless others are given. */
export const startEdge = async (
  endpoints: Partial<Endpoints> = {},
  {
    checksKeyFirst = false,
    ...server
  }: Pick<ServerOptions, 'toEvent' | 'slowClients'> & { checksKeyFirst?: boolean } = {},
  { corsOrigins, clock = systemClock }: { corsOrigins?: string[]; clock?: Clock } = {},
): Promise<Edge> => {
  const tables = await startMemory();
  const { keys, plans, meters, records } = storesOn(tables.client);
  await plans.putPlan({ id: 'plan', rpm: 10_000, quota: 10_000, period: 'day' });
  const lifecycle = createKeyLifecycle({ keys, meters, clock: systemClock, randomBytes });
  const { key } = await lifecycle.create({ projectId: 'project', planId: 'plan' });
  const written: string[] = [];
  let reads = 0;
  const findKey: typeof keys.findKey = (hash) => {
    reads += 1;
    return keys.findKey(hash);
  };
  const authenticate = createAuthenticate({ keys: { findKey }, plans, clock });
  const handler = createHttpHandler({
    endpoints: { ...echoes, ...endpoints },
    authenticate,
    refusals: createRefusals({ store: records, clock, randomBytes }),
    log: createWatchedLog([], clock, (line) => written.push(line)),
    clock,
    randomBytes,
    corsOrigins,
  });
  const { url, close } = await startServer({
    handler,
    port: 0,
    clock: systemClock,
    randomBytes,
    ...(checksKeyFirst && { acceptsBody: createAcceptsBody(authenticate) }),
    ...server,
  });
  watchAnswers(url, []);
  return {
    url,
    key,
    reads: () => reads,
    get lines() {
      return written.map(parseLine);
    },
    logText: () => written.join(''),
    close: async () => {
      await close();
      await tables.close();
    },
  };
};

/** An edge that reads no body before its key, and ends with the test. */
export const startKeyed = async (slowClients: ServerOptions['slowClients'] = {}): Promise<Edge> => {
  const edge = await startEdge({}, { checksKeyFirst: true, slowClients });
  onTestFinished(edge.close);
  return edge;
};
