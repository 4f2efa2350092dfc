import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import { PRESETS } from '../../../lambdas/catalog/profiles.ts';
import {
  type AnthropicOptions,
  createAnthropicCache,
} from '../caching-provider/anthropic-cache.ts';
import { createBreakpointCache } from '../caching-provider/breakpoint-cache.ts';
import { createOpenAiCache } from '../caching-provider/openai-cache.ts';
import { type Said, startCachingProvider, type Wire } from '../caching-provider/server.ts';
import { startFleet } from '../fleet.ts';
import { createManualClock, type ManualClock } from '../manual-clock.ts';
import { modelOn, targetAt } from '../models.ts';
import { send } from '../send.ts';
import { readRecorded, type SentRequest } from './shorten.ts';

/** Requests of one client in their order. */
export type Session = { path: string; requests: SentRequest[] };

/** A session that was recorded by `npm run record:sessions`. */
export const recorded = (file: string): Session => {
  const url = new URL(`../../fixtures/sessions/${file}.json`, import.meta.url);
  return readRecorded(JSON.parse(readFileSync(url, 'utf8')));
};

/** The signatures of thinking name the target that served it. */
export const withoutThinking = ({ path, requests }: Session): Session => ({
  path,
  requests: requests.map(({ headers, body }) => ({
    headers,
    body: JSON.parse(
      JSON.stringify(body, (_, value) =>
        Array.isArray(value) ? value.filter((item) => item?.type !== 'thinking') : value,
      ),
    ),
  })),
});

export const MODEL = 'anthropic/claude-sonnet-5';
const NOW = Date.UTC(2026, 10, 24, 9);
/** Between two steps: each calls a model and runs a tool. */
export const STEP_MS = 20_000;

/** As the recorder's, so that the thinking of a recorded session is that of the target. */
const CLAUDE = {
  upstream: 'anthropic',
  protocol: 'messages',
  model: 'claude-sonnet-5',
  profile: PRESETS['claude-5'],
} as const satisfies Partial<Target>;
const GPT = {
  upstream: 'openai',
  protocol: 'chat',
  model: 'gpt-5',
  profile: PRESETS['gpt-5'],
} as const satisfies Partial<Target>;

const GPT_WITH_BREAKPOINTS = { ...GPT, model: 'gpt-5.6', profile: PRESETS['gpt-5.6'] };

const WIRES = { messages: CLAUDE, chat: GPT };

export type StageOptions = {
  /** Tables that have an address. */
  onDynamo?: boolean;
  wire: Wire;
  /** On chat: GPT-5.6 and its breakpoints. */
  hasBreakpoints?: boolean;
  /** On chat: the model reads all system messages before the conversation. */
  hoistsSystem?: boolean;
  cache?: AnthropicOptions;
  /** Routers that share their tables. */
  routers?: number;
  /** Of each provider's target, beside what its wire has. */
  targets?: Partial<Target>[];
  /** What the model says in each request of a provider. */
  answer?: (index: number) => Said;
};

const createCache = ({ wire, hasBreakpoints, hoistsSystem, cache }: StageOptions) => {
  if (hasBreakpoints) return createBreakpointCache();
  return wire === 'chat' ? createOpenAiCache(hoistsSystem) : createAnthropicCache(cache);
};

/** Routers, and a provider with a prompt cache for each target of their one model. */
export const openStage = async (options: StageOptions) => {
  const { wire, routers = 1, targets = [{}] } = options;
  const clock = createManualClock(NOW);
  const providers = await Promise.all(
    targets.map(() =>
      startCachingProvider({
        ...{ wire, cache: createCache(options), clock },
        ...(options.answer && { answer: options.answer }),
      }),
    ),
  );
  const fleet = await startFleet({
    models: [
      modelOn(
        targets.map((extra, at) =>
          targetAt(providers[at]?.url ?? '', {
            ...(options.hasBreakpoints ? GPT_WITH_BREAKPOINTS : WIRES[wire]),
            ...extra,
          }),
        ),
        { id: MODEL },
      ),
    ],
    clock,
    size: routers,
    onDynamo: options.onDynamo ?? false,
  });
  const close = async () => {
    await fleet.close();
    for (const provider of providers) await provider.close();
  };
  return { clock, providers, fleet, close };
};

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Until the test is finished. */
export const startStage = async (options: StageOptions): Promise<Stage> => {
  const stage = await openStage(options);
  onTestFinished(stage.close);
  return stage;
};

const assertServed = ({ status, text }: { status: number; text: string }): void => {
  if (status !== 200) throw new Error(`A step got ${status}: ${text}`);
};

/** Sends one step of a session to one of the routers. */
export const sendStep = (
  { fleet }: Pick<Stage, 'fleet'>,
  { path, request, router = 0 }: { path: string; request: SentRequest; router?: number },
) =>
  send(fleet.urls[router % fleet.urls.length] ?? '', path, {
    method: 'POST',
    headers: { ...request.headers, authorization: `Bearer ${fleet.key}` },
    body: JSON.stringify(request.body),
  });

/** Sends the steps of a session, each to the next router, and stops the time between them. */
export const play = async (stage: Stage, { path, requests }: Session): Promise<void> => {
  for (const [index, request] of requests.entries()) {
    assertServed(await sendStep(stage, { path, request, router: index }));
    stage.clock.advance(STEP_MS);
  }
};

/** The same bodies at a provider of their own, without the router. */
export const playDirect = async (
  bodies: string[],
  options: StageOptions,
  clock: ManualClock = createManualClock(NOW),
) => {
  const provider = await startCachingProvider({
    wire: options.wire,
    cache: createCache(options),
    clock,
  });
  try {
    for (const body of bodies) {
      const headers = { authorization: 'Bearer own' };
      assertServed(await send(provider.url, '/', { method: 'POST', headers, body }));
      clock.advance(STEP_MS);
    }
    return provider.log;
  } finally {
    await provider.close();
  }
};

/** What a client of the provider's own protocol sends to it, where no router marks its thinking. */
export const directBodies = ({ requests }: Session): string[] =>
  requests.map(({ body }) =>
    JSON.stringify({ ...body, model: CLAUDE.model }).replaceAll(/mrs1\.[0-9a-f]{12}\./g, ''),
  );
