import { getEventListeners, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../../lambdas/protocols/rejections/upstream-error.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import type { UpstreamSecrets } from '../../../lambdas/upstreams/secrets.ts';
import type { EventBatches } from '../../../lambdas/upstreams/upstream.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { rejection } from '../../support/error-of.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { requestOf } from '../../support/translate.ts';

export const NOW = Date.UTC(2026, 10, 21, 12);
export const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
export const HELLO = chunk({ role: 'assistant', content: 'Hellö 😀' });
/** Ends after the first of the emoji's four bytes. */
export const HELLO_CUT = Buffer.from(HELLO).subarray(0, Buffer.from(HELLO).indexOf(0x9f));
export const WHOLE = `${HELLO}${chunk({}, 'stop')}data: [DONE]\n\n`;

export const sse = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

export const setUp = (url: string, extra: Partial<Target> = {}, secrets?: UpstreamSecrets) => {
  const clock = createCountingClock(NOW);
  const caller = new AbortController();
  const refreshed: string[] = [];
  const upstream = createHttpUpstream({
    clock,
    secrets: secrets ?? {
      ...fixedSecrets(''),
      get: async (name) => ({ value: `secret-of-${name}`, version: 'v1' }),
      refused: async (name, version) => void refreshed.push(`${name} ${version}`),
    },
  });
  const target: Target = {
    upstream: 'aurora',
    protocol: 'chat',
    baseUrl: `${url}/v1/`,
    model: 'scribe-1',
    secret: 'aurora',
    ...extra,
  };
  const open = (content = 'hi') =>
    upstream.open({
      request: requestOf('chat', { stream: false, messages: [{ role: 'user', content }] }),
      target,
      protocol: upstreamProtocols[target.protocol],
      maxOutputTokens: 1000,
      limits: { characters: 1_000_000, messages: 10_000, overhead: 1_000_000 },
      signal: caller.signal,
    });
  const expectNothingLeft = () =>
    expect
      .poll(() => [clock.waits(), getEventListeners(caller.signal, 'abort').length])
      .toEqual([[], 0]);
  return { clock, caller, refreshed, open, expectNothingLeft };
};

/** A server of bytes; its address as if it spoke HTTP. */
export const startRaw = async (onSocket: (socket: Socket) => void): Promise<string> => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    onSocket(socket);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

export const readAll = async (batches: EventBatches): Promise<GenerationEvent[]> => {
  const events: GenerationEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  return events;
};

export const textOf = (events: GenerationEvent[]) =>
  events.map((event) => (event.type === 'block-delta' ? event.delta : '')).join('');

export const upstreamErrorOf = async (work: Promise<unknown>): Promise<UpstreamError> => {
  const error = await rejection(work);
  if (error instanceof UpstreamError) return error;
  throw new Error('expected an UpstreamError', { cause: error });
};

export const openAndRead = (open: () => Promise<EventBatches>) => open().then(readAll);
