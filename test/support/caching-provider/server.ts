import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as textIn } from 'node:stream/consumers';
import type { Clock } from '../../../lambdas/support/clock.ts';
import { listen } from '../../../local/loopback.ts';
import { streamedChat, wholeChat } from '../strict-upstream/chat-response.ts';
import { streamedMessages, wholeMessages } from '../strict-upstream/messages-response.ts';
import type { Meant } from '../strict-upstream/wire-response.ts';
import { type Billed, type CacheRules, tokensOf } from './bill.ts';

export type Wire = 'chat' | 'messages';

/** What the model says; the provider adds what it billed. */
export type Said = Omit<Meant, 'usage'>;

const WRITERS = {
  chat: { whole: wholeChat, streamed: streamedChat },
  messages: { whole: wholeMessages, streamed: streamedMessages },
};

const DONE: Said = { text: 'Done.', calls: [], finish: 'stop' };
const OUTPUT_TOKENS = 20;

type Options = {
  wire: Wire;
  cache: CacheRules;
  clock: Clock;
  /** Of the request with this number, from 0. @default a word */
  answer?: (index: number, body: string) => Said;
};

/**
 * A provider with a real prompt cache. It decides what a request costs by its vendor's rules alone, bills by its own log,
 * and reports the same figures in its response.
 */
export const startCachingProvider = async ({
  wire,
  cache,
  clock,
  answer = () => DONE,
}: Options) => {
  const log: Billed[] = [];
  /** While a status is set, every request fails with it, and none is billed. */
  const state: { status: number | undefined } = { status: undefined };

  const fail = (response: ServerResponse, status: number, message: string) => {
    const error = { type: status < 500 ? 'invalid_request_error' : 'api_error', message };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(wire === 'chat' ? { error } : { type: 'error', error }));
  };

  const respond = (response: ServerResponse, body: string, bill: Billed) => {
    const { read: cached, written5m, written1h } = bill;
    const usage = { input: tokensOf(bill), cached, written5m, written1h, output: OUTPUT_TOKENS };
    const meant = { ...answer(log.length - 1, body), usage };
    const isStream = JSON.parse(body).stream === true;
    const form = { isWhole: !isStream, isAscii: false, units: [64] };
    const { whole, streamed } = WRITERS[wire];
    const type = isStream ? 'text/event-stream; charset=utf-8' : 'application/json';
    response.writeHead(200, { 'content-type': type });
    response.end(isStream ? streamed(meant, form) : whole(meant, form));
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const start = clock.now();
    const body = await textIn(request);
    if (state.status !== undefined) return fail(response, state.status, 'injected failure');
    const headers = request.headers as Record<string, string>;
    const account = headers['x-api-key'] ?? headers.authorization ?? '';
    const opening = cache.open(body, account, start);
    if (opening.rejection !== undefined) return fail(response, 400, opening.rejection);
    const { bill, marks, begin } = opening;
    const billed = { ...bill, start, account, marks, body, headers };
    log.push(billed);
    respond(response, body, billed);
    begin();
  };

  const { url, close } = await listen(
    createServer((request, response) => {
      handle(request, response).catch(() => response.destroy());
    }),
  );
  return { url, log, state, evict: cache.evict, close };
};
