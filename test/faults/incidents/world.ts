import { Writable } from 'node:stream';
import { createCatalog } from '../../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../../lambdas/create-router.ts';
import type { HttpEvent } from '../../../lambdas/http/read-event.ts';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import { type Prelude, withPrelude } from '../../../lambdas/web/lambda-runtime.ts';
import { functionUrl } from '../../runtime/events.ts';
import { createRandom } from '../../simulation/random.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { createMemoryStores } from '../../support/memory-stores.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { startProviders } from './provider.ts';

const START = Date.UTC(2026, 10, 21, 12);
const PLAN = { id: 'plan', rpm: 1_000_000, quota: 1_000_000_000, period: 'month' } as const;
const CONTEXT = { getRemainingTimeInMillis: () => 900_000 };

/** A key and whose it is; prompts carry `name`, by which the provider knows it. */
export type Key = { project: number; name: string; key: string };

/** One request as its caller saw it. `status` 0: a stream that broke off. */
export type Seen = {
  at: number;
  endedAt: number;
  project: number;
  name: string;
  status: number;
  text: string;
};

export type WorldOptions = {
  projects: number;
  keys: number;
  processes: number;
  targets: number;
  seed: number;
};

/** Bytes of ids and of jitter, the same in each run. */
const createBytes = (seed: number) => {
  const random = createRandom(seed);
  return (size: number) => Uint8Array.from({ length: size }, () => random.between(0, 255));
};

/** The response stream of one invocation. */
class Response extends Writable {
  status = 0;
  readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _: string, done: () => void) {
    this.chunks.push(chunk);
    done();
  }
}

// As the platform does, with a stream that keeps what it gets.
Object.assign(Reflect.get(globalThis, 'awslambda'), {
  HttpResponseStream: {
    from: (stream: Writable, prelude: Prelude): Writable => {
      if (!(stream instanceof Response)) return withPrelude(stream, prelude);
      stream.status = prelude.statusCode ?? 200;
      return stream;
    },
  },
});

/** Routers on one set of tables and a fake clock, asked as Lambda asks them, with providers on loopback. */
export const startWorld = async (options: WorldOptions) => {
  const { projects, keys, processes, targets, seed } = options;
  const randomBytes = createBytes(seed);
  const clock = createManualClock(START);
  const now = () => clock.now() - START;
  const providers = await startProviders(targets, now);
  const stores = createMemoryStores();
  await stores.plans.putPlan(PLAN);
  const lifecycle = createKeyLifecycle({ ...stores, clock, randomBytes });
  const callers: Key[] = [];
  for (let project = 0; project < projects; project += 1) {
    for (let at = 0; at < keys; at += 1) {
      const { key } = await lifecycle.create({ projectId: `project-${project}`, planId: PLAN.id });
      callers.push({ project, name: `${project}/${at}`, key });
    }
  }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const handlers = Array.from({ length: processes }, (_, process) =>
    createRouter({
      ...stores,
      catalog: createCatalog([
        modelOn(
          providers.urls.map((url, at) => targetAt(`${url}/p${process}`, { upstream: `up-${at}` })),
        ),
      ]),
      upstream: createHttpUpstream({ secrets: fixedSecrets('secret'), clock }),
      log,
      clock,
      randomBytes,
    }),
  );

  const seen: Seen[] = [];
  const pending = new Set<Promise<unknown>>();

  const run = async ({ project, name, key }: Key, process: number): Promise<void> => {
    const body = {
      model: 'vendor/model',
      stream: true,
      messages: [{ role: 'user', content: name }],
    };
    const event = functionUrl('/v1/chat/completions', { key, body });
    const response = new Response();
    const at = now();
    await handlers[process]?.(event as unknown as HttpEvent, response, CONTEXT);
    const text = Buffer.concat(response.chunks).toString();
    const isBroken = response.status === 200 && !text.includes('[DONE]');
    const status = isBroken ? 0 : response.status;
    seen.push({ at, endedAt: now(), project, name, status, text });
  };

  const ask = (caller: Key, process: number): void => {
    const asked = run(caller, process).finally(() => pending.delete(asked));
    pending.add(asked);
  };

  /** Until every request has ended or waits for the clock at a provider. */
  const settle = async (): Promise<void> => {
    while (pending.size !== providers.heldCount()) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  };

  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    providers.release();
    await settle();
  };

  return {
    callers,
    providers,
    seen,
    now,
    ask,
    settle,
    advance,
    close: async () => {
      providers.setRule(() => undefined);
      while (pending.size > 0) await advance(30_000);
      await providers.close();
    },
  };
};

export type World = Awaited<ReturnType<typeof startWorld>>;
