import { afterAll, beforeAll } from 'vitest';
import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../../lambdas/catalog/parse-models.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { localCredentials } from '../../local/local-catalog.ts';
import { type LocalOptions, type LocalRouter, startLocal } from '../../local/start.ts';
import { watchAnswers } from './leak-watch.ts';
import { createWatchedLog } from './watched-log.ts';

const hostsOf = (models: Model[]): string[] =>
  models.flatMap(({ targets }) => targets.map(({ baseUrl }) => new URL(baseUrl).host));

/** A router of the local run whose log, metrics and answers are looked at for leaks. */
export const startWatched = async (options: LocalOptions = {}): Promise<LocalRouter> => {
  const { catalog = parseModels(defaultModels), clock = systemClock } = options;
  const router = await startLocal({ log: createWatchedLog(catalog, clock), ...options });
  const credentials = Object.values(options.secrets ?? localCredentials(catalog));
  watchAnswers(router.baseUrl, [...credentials, ...hostsOf(router.models)]);
  return router;
};

/** Runs `use` against a router of its own and closes it, also when `use` throws. */
export const withRouter = async <T>(
  options: LocalOptions,
  use: (router: LocalRouter) => Promise<T>,
): Promise<T> => {
  const router = await startWatched(options);
  try {
    return await use(router);
  } finally {
    await router.close();
  }
};

/** One router for all tests of a file or `describe`; ask for it inside a test. */
export const useRouter = (options?: LocalOptions): (() => LocalRouter) =>
  useStarted(() => startWatched(options));

/** The same for a router that `start` starts. */
export const useStarted = <Router extends LocalRouter>(
  start: () => Promise<Router>,
): (() => Router) => {
  let router: Router | undefined;
  beforeAll(async () => {
    router = await start();
  });
  afterAll(async () => {
    await router?.close();
  });
  return () => {
    if (!router) throw new Error('The router is started before the first test: ask inside one.');
    return router;
  };
};

export type PostOptions = { key?: string; headers?: Record<string, string>; signal?: AbortSignal };

/** Posts JSON with the router's key, if it has one, or another. */
export const post = (
  router: Pick<LocalRouter, 'baseUrl'> & Partial<Pick<LocalRouter, 'key'>>,
  path: string,
  body: unknown,
  { key = router.key, headers = {}, signal }: PostOptions = {},
): Promise<Response> =>
  fetch(`${router.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

/** The default catalog's first two models, by the protocol that their first target speaks. */
export const MODEL_ON = { chat: 'aurora/scribe-1', messages: 'borealis/swift-2' } as const;
