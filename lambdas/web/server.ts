import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { HttpHandler } from '../http/create-http-handler.ts';
import { methodNotAllowed } from '../http/path-pattern.ts';
import type { HttpEvent } from '../http/read-event.ts';
import type { Clock } from '../support/clock.ts';
import { MAX_INVOCATION_MS } from '../support/durations.ts';
import { apiError, invalidRequest } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import { closeServer } from './close-server.ts';
import { createDrain } from './drain.ts';
import { functionUrlEvent, splitTarget } from './function-url-event.ts';
import { createHttpErrors, type HttpErrors, parserError } from './http-errors.ts';
import { createResponseStream } from './lambda-runtime.ts';
import { createUnderWay } from './under-way.ts';

export type ServerOptions = {
  handler: HttpHandler;
  /** 0 takes any free port. */
  port: number;
  host?: string;
  /** The event format; a Function URL's unless given. */
  toEvent?: (request: IncomingMessage, body: Buffer, now: number) => HttpEvent;
  clock: Clock;
  randomBytes: RandomBytes;
  /** What slow senders get, in milliseconds, where it is not what is usual. */
  senders?: Partial<typeof SENDERS>;
};

export type RunningServer = {
  url: string;
  /** Takes nothing new and waits for the answers under way. */
  drain(): Promise<void>;
  /** Cuts whatever is under way. */
  close(): Promise<void>;
};

/** Lambda's limit for an invocation's event, headers and escaping of the body included. */
const MAX_EVENT_BYTES = 6_291_456;

/** Slow senders hold a socket for this long at most; Node looks for them at intervals. Milliseconds. */
const SENDERS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
};

const LIMITS = {
  maxHeaderSize: 16 * 1024,
  // Longer than clients keep an idle connection, so that they never send into a closing one.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // Node's own refusal of a request without a host has neither envelope nor request id.
  requireHostHeader: false,
};

/** The whole body, or undefined when it alone is over the platform's limit. */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let size = 0;
  // An oversized body is read to its end all the same: few clients look at an answer before that.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size <= MAX_EVENT_BYTES) chunks.push(chunk);
  }
  return size <= MAX_EVENT_BYTES ? Buffer.concat(chunks, size) : undefined;
};

const lacksHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === '1.1' && headers.host === undefined;

const isDeliverable = (event: HttpEvent): boolean =>
  Buffer.byteLength(JSON.stringify(event)) <= MAX_EVENT_BYTES;

/** A signal that aborts when the client leaves before its answer is complete. */
const leaveSignal = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
};

const createListener =
  ({ handler, toEvent = functionUrlEvent, clock }: ServerOptions, { refuse }: HttpErrors) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedAt = clock.now();
    const { path } = splitTarget(request.url ?? '');
    if (lacksHost(request)) {
      refuse(response, path, invalidRequest('The request has no host header.'));
      return;
    }
    const body = await readBody(request);
    const event = body && toEvent(request, body, startedAt);
    if (!event || !isDeliverable(event)) {
      refuse(response, path, invalidRequest('The request is over 6 MB.', { status: 413 }));
      return;
    }
    await handler(event, createResponseStream(response, clock), {
      signal: leaveSignal(response),
      getRemainingTimeInMillis: () => startedAt + MAX_INVOCATION_MS - clock.now(),
    });
  };

/** A handler fails when its client has gone, which needs no answer, or by a fault of ours. */
const onFailure = (response: ServerResponse, { refuse }: HttpErrors) => {
  if (response.headersSent || response.destroyed) response.destroy();
  else refuse(response, '', apiError('The router failed.', { status: 502 }));
};

/**
 * Serves a Lambda handler over HTTP, on loopback unless told otherwise, with the events, limits and
 * response stream of the platform; a client that leaves aborts its request.
 * @throws Error `EADDRINUSE` when the port is taken
 */
export const startServer = async (options: ServerOptions): Promise<RunningServer> => {
  const host = options.host ?? '127.0.0.1';
  const refusals = createHttpErrors(options.randomBytes);
  const listener = createListener(options, refusals);
  const limits = { ...LIMITS, ...SENDERS, ...options.senders };
  const underWay = createUnderWay();
  const server = createServer(limits, (request, response) => {
    underWay.began(request, response);
    listener(request, response).catch(() => onFailure(response, refusals));
  });
  const drain = createDrain(server);
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { path } = splitTarget(request.url ?? '');
    const message = 'The only expectation that is met is 100-continue.';
    refusals.refuse(response, path, invalidRequest(message, { status: 417 }));
  });
  server.on('clientError', (fault, socket) => {
    const error = parserError(fault);
    if (!error || underWay.on(socket)) socket.destroy();
    else refusals.refuseBytes(socket, error);
  });
  // Without a listener Node closes the connection and says nothing.
  server.on('connect', (_request, socket) => {
    refusals.refuseBytes(socket, methodNotAllowed('GET, HEAD, POST, OPTIONS'));
  });
  server.listen(options.port, host);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : options.port;
  return {
    url: `http://${host}:${port}`,
    drain,
    close: () => closeServer(server),
  };
};
