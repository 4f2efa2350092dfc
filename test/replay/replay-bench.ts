import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type FleetOptions, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { type Sent, send } from '../support/send.ts';
import { startHeldUpstream } from './held-upstream.ts';

const PATHS: Record<CallerProtocolName, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** The members of a request that differ between the protocols. */
const contentOf = (family: CallerProtocolName, content: string) => {
  const turns = [{ role: 'user', content }];
  return family === 'responses'
    ? { max_output_tokens: 100_000, input: turns }
    : { max_tokens: 100_000, messages: turns };
};

export type Ask = {
  family?: CallerProtocolName;
  stream?: boolean;
  /** Value of `Idempotency-Key`; null sends none. */
  idempotencyKey?: string | null;
  router?: number;
  prompt?: string;
  model?: string;
  key?: string;
  headers?: Record<string, string>;
};

/** Two routers that share their tables and a clock, and a provider that answers when the test says so. */
export const startReplayBench = async (options: Partial<FleetOptions> = {}) => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const upstream = await startHeldUpstream();
  const target = targetAt(upstream.url);
  const models = [modelOn([target]), modelOn([target], { id: 'vendor/other' })];
  const fleet = await startFleet({
    models,
    clock,
    size: 2,
    secret: CANARIES.upstreamKey,
    ...options,
  });
  onTestFinished(async () => {
    await fleet.close();
    await upstream.close();
  });

  const requestOf = ({ family = 'chat', stream = true, ...ask }: Ask) => ({
    url: fleet.urls[ask.router ?? 0] ?? '',
    path: PATHS[family],
    headers: {
      'x-api-key': ask.key ?? fleet.key,
      ...(ask.idempotencyKey !== null && { 'idempotency-key': ask.idempotencyKey ?? 'key-1' }),
      ...ask.headers,
    },
    body: JSON.stringify({
      model: ask.model ?? 'vendor/model',
      stream,
      ...contentOf(family, `${CANARIES.prompt} ${ask.prompt ?? 'hi'}`),
    }),
  });

  const ask = (wanted: Ask = {}): Promise<Sent> => {
    const { url, path, headers, body } = requestOf(wanted);
    return send(url, path, { method: 'POST', headers, body });
  };

  /** Sends a request and disconnects when told to; reads nothing before. */
  const askAndHold = (wanted: Ask = {}) => {
    const { url, path, headers, body } = requestOf(wanted);
    const sent = request(`${url}${path}`, { method: 'POST', headers, agent: false });
    sent.on('error', () => undefined).end(body);
    const opened = once(sent, 'response') as Promise<[IncomingMessage]>;
    opened.catch(() => undefined);
    return { opened, leave: () => void sent.destroy() };
  };

  /** Resolves when the provider has `count` calls. */
  const untilCalls = (count: number) => expect.poll(() => upstream.calls.length).toBe(count);

  const lastCall = () => {
    const call = upstream.calls.at(-1);
    if (!call) throw new Error('The provider was not called.');
    return call;
  };

  return { clock, upstream, fleet, ask, askAndHold, untilCalls, lastCall };
};

export type ReplayBench = Awaited<ReturnType<typeof startReplayBench>>;

/** Lets short times pass until the promise is settled: waiting requests read the table in between. */
export const passing = async <T>(
  { clock }: Pick<ReplayBench, 'clock'>,
  promise: Promise<T>,
  step = 200,
): Promise<T> => {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  await expect
    .poll(() => {
      if (!isSettled) clock.advance(step);
      return isSettled;
    })
    .toBe(true);
  return settled;
};

/** The text of a response, streamed or whole, in any protocol. */
export const textOf = ({ text }: Pick<Sent, 'text'>): string => {
  const documents = text.startsWith('{')
    ? [text]
    : [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => json);
  // A stream of the responses protocol repeats its text in whole at the end.
  const members = text.includes('response.output_text.delta') ? 'delta' : 'content|text';
  const pattern = new RegExp(`"(?:${members})":("(?:[^"\\\\]|\\\\.)*")`, 'g');
  return documents
    .flatMap((json) => [...json.matchAll(pattern)])
    .map(([, literal = '""']) => String(JSON.parse(literal)))
    .join('');
};
