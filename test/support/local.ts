import { afterAll, beforeAll } from 'vitest';
import { type LocalOptions, type LocalRouter, startLocal } from '../../local/start.ts';

/** Runs `use` against a router of its own and closes it, also when `use` throws. */
export const withRouter = async <T>(
  options: LocalOptions,
  use: (router: LocalRouter) => Promise<T>,
): Promise<T> => {
  const router = await startLocal(options);
  try {
    return await use(router);
  } finally {
    await router.close();
  }
};

/** One router for all tests of a file or `describe`; ask for it inside a test. */
export const useRouter = (options: LocalOptions = {}): (() => LocalRouter) => {
  let router: LocalRouter | undefined;
  beforeAll(async () => {
    router = await startLocal(options);
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

/** Posts JSON with the router's key, or another. */
export const post = (
  router: LocalRouter,
  path: string,
  body: unknown,
  { key = router.key, headers = {}, signal }: PostOptions = {},
): Promise<Response> =>
  fetch(`${router.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

/** The default catalog's first two models, by the protocol that their first target speaks. */
export const MODEL_ON = { chat: 'aurora/scribe-1', messages: 'borealis/swift-2' } as const;
