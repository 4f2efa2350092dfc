import type { Writable } from 'node:stream';
import middy from '@middy/core';
import { executionModeStreamifyResponse } from '@middy/core/StreamifyResponse';
import type { Call, Reply } from '../endpoints/endpoint.ts';
import type { HttpEvent } from './read-event.ts';
import type { InvocationContext, RequestContext } from './request-context.ts';
import { type StackOptions, stack } from './stack.ts';

/** A streaming Lambda handler; it resolves when the answer has been written to its end. */
export type HttpHandler = (
  event: HttpEvent,
  response: Writable,
  context: InvocationContext,
) => Promise<void>;

const callOf = (exchange: RequestContext): Call | undefined =>
  exchange.caller && {
    requestId: exchange.requestId,
    protocol: exchange.protocol,
    caller: exchange.caller,
    body: exchange.body?.value,
    bodyBytes: exchange.body?.bytes ?? 0,
    pathParameter: exchange.match?.parameter,
    signal: exchange.signal,
    remainingMs: exchange.remainingMs,
    note: (fields) => Object.assign(exchange.notes, fields),
  };

const serve = async (exchange: RequestContext): Promise<Reply> => {
  const served = exchange.match?.route.serve;
  if (served && 'reply' in served) return served.reply;
  const call = callOf(exchange);
  if (!served || !call) throw new Error('a request passed the stack without a route or a caller');
  return served.endpoint(call);
};

/** The one stack in front of all routes. `globalThis.awslambda` must exist before this is called. */
export const createHttpHandler = (options: StackOptions): HttpHandler => {
  const handler = middy<RequestContext, Reply>({
    executionMode: executionModeStreamifyResponse,
    // Middy's own timer stops when the handler returns, before a stream begins; deadlines are ours.
    timeoutEarlyInMillis: 0,
  })
    .use(stack(options))
    .handler(serve);
  // Middy types its result as the handler it was given; streamifyResponse returns the streaming one.
  return handler as unknown as HttpHandler;
};
