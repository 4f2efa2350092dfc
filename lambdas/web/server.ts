import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { HttpHandler } from '../http/create-http-handler.ts';
import { methodNotAllowed } from '../http/read-address.ts';
import type { HttpEvent } from '../http/read-event.ts';
import { joinBytes } from '../support/bytes.ts';
import { type Clock, MAX_INVOCATION_MS } from '../support/clock.ts';
import { type ApiError, apiError, invalidRequest } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import { closeServer, createDrain, createInFlight } from './connections.ts';
import { createHttpErrors, type HttpErrors, parserError } from './http-errors.ts';
import { type RequestHead, readHead, splitTarget } from './request-head.ts';

export type ServerOptions = {
  handler: HttpHandler;
  /** 0 means any free port. */
  port: number;
  host?: string;
  /**
   * The event in which a platform would deliver a request, or the request itself; undefined if it would not.
   * @default the request itself
   */
  toEvent?: (
    request: IncomingMessage,
    body: Buffer,
    now: number,
  ) => HttpEvent | 'itself' | undefined;
  /** Why a request is rejected before anything of it is used. @default none is */
  reject?: (request: RequestHead) => ApiError | undefined;
  /**
   * Whether to read the body of a request. Without it the handler gets a request without a body at once, and
   * the body is discarded as it arrives, so that no connection without a key can fill memory.
   * @default always
   */
  acceptsBody?: (request: RequestHead) => boolean | Promise<boolean>;
  clock: Clock;
  randomBytes: RandomBytes;
  /** Overrides of the timeouts of slow clients, in ms. */
  slowClients?: Partial<typeof SLOW_CLIENTS>;
};

export type RunningServer = {
  url: string;
  /** Accepts nothing new and waits for the responses in flight. */
  drain(): Promise<void>;
  /** Closes every connection at once. */
  close(): Promise<void>;
};

/** As many as a platform delivers in an event; the router rejects a smaller body in the caller's protocol. */
const MAX_BODY_BYTES = 6_291_456;
/** Of a body that is not kept: few clients read a response before their body is sent, and none of them sends so much. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Timeouts of slow clients, in milliseconds. */
const SLOW_CLIENTS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  /** Interval at which Node checks those two. */
  connectionsCheckingInterval: 5_000,
  /** Of a response of which its client reads nothing. */
  readTimeout: 60_000,
};

const LIMITS = {
  maxHeaderSize: 16 * 1024,
  // Longer than clients keep an idle connection, so that they never send into a closing one.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // Node's error for a missing host has neither envelope nor request id.
  requireHostHeader: false,
};

const isTooLong = ({ headers }: IncomingMessage): boolean =>
  Number(headers['content-length']) > MAX_BODY_BYTES;

/** Whether the client sends no body until it gets a 100, which this one does not. */
const isHeldBack = (request: IncomingMessage): boolean =>
  request.headers.expect !== undefined && isTooLong(request);

/** Closed at once, a connection is reset under a client that is still sending, before that has read its response. */
const tooLong = (request: IncomingMessage): ApiError =>
  invalidRequest('The request is over 6 MB.', {
    status: 413,
    ...(!request.complete && !isHeldBack(request) && { headers: { connection: 'keep-alive' } }),
  });

/** Consumes the body without keeping it. */
const discardBody = (request: IncomingMessage): void => {
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size > MAX_DISCARDED_BYTES) request.destroy();
  });
};

/** The whole body, or undefined as soon as it is over the limit: the rest is discarded. */
const readBody = (request: IncomingMessage): Promise<Buffer | undefined> =>
  // Without an iterator, which takes 30 us of CPU.
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const discard = () => {
      request.off('data', keep);
      chunks.length = 0;
      discardBody(request);
      resolve(undefined);
    };
    const keep = (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else discard();
    };
    request.on('data', keep);
    if (isTooLong(request)) discard();
    request.on('end', () => resolve(joinBytes(chunks)));
    const onClose = () => {
      if (!request.readableEnded) reject(new Error('The client disconnected.'));
    };
    if (request.destroyed) onClose();
    request.on('close', onClose);
  });

/** HTTP/1.1 requires a host. */
const rejectWithoutHost = ({ httpVersion, headers }: IncomingMessage): ApiError | undefined =>
  httpVersion === '1.1' && headers.host === undefined
    ? invalidRequest('The request has no host header.')
    : undefined;

/**
 * Closes a connection whose client has stopped reading, since that holds the response back, and with it the upstream.
 * Node's timeout of a connection without progress also passes in a silent response, which continues.
 */
const endWithClient = (response: ServerResponse): void => {
  response.on('timeout', () => {
    if (response.writableLength > 0) response.destroy();
  });
  // Of a write after that.
  response.on('error', () => undefined);
};

/** A signal that aborts if the client disconnects before its response is complete. */
const disconnectSignal = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
};

const createListener = (options: ServerOptions, { send }: HttpErrors) => {
  const { handler, toEvent, reject, acceptsBody = () => true, clock } = options;
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedAt = clock.now();
    const head = readHead(request);
    const rejection = rejectWithoutHost(request) ?? reject?.(head);
    if (rejection) {
      send(response, head.path, rejection);
      return;
    }
    const isRead = await acceptsBody(head);
    if (!isRead) discardBody(request);
    const body = isRead ? await readBody(request) : Buffer.alloc(0);
    const event = body && toEvent ? toEvent(request, body, startedAt) : 'itself';
    const received = body && (event === 'itself' ? { ...head, body } : event);
    if (!received) {
      send(response, head.path, tooLong(request));
      return;
    }
    await handler(received, response, {
      signal: disconnectSignal(response),
      getRemainingTimeInMillis: () => startedAt + MAX_INVOCATION_MS - clock.now(),
    });
  };
};

/** A handler fails if its client disconnected, which needs no response, or by a bug: 502. */
const onFailure = (response: ServerResponse, { send }: HttpErrors) => {
  if (response.headersSent || response.destroyed) response.destroy();
  else send(response, '', apiError('The router failed.', { status: 502 }));
};

/**
 * Serves a Lambda handler over HTTP, by default on loopback, with the response stream of the platform; a client that
 * disconnects aborts its request.
 * @throws Error `EADDRINUSE` if the port is in use
 */
export const startServer = async (options: ServerOptions): Promise<RunningServer> => {
  const host = options.host ?? '127.0.0.1';
  const errors = createHttpErrors(options);
  const listener = createListener(options, errors);
  const limits = { ...LIMITS, ...SLOW_CLIENTS, ...options.slowClients };
  const inFlight = createInFlight();
  const server = createServer(limits, (request, response) => {
    inFlight.add(request, response);
    endWithClient(response);
    listener(request, response).catch(() => onFailure(response, errors));
  });
  server.timeout = limits.readTimeout;
  const drain = createDrain(server);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // What follows on the connection would be taken for the body that is not sent.
    if (isHeldBack(request)) response.shouldKeepAlive = false;
    else response.writeContinue();
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { path } = splitTarget(request.url ?? '');
    const message = 'Only "Expect: 100-continue" is supported.';
    errors.send(response, path, invalidRequest(message, { status: 417 }));
  });
  server.on('clientError', (cause, socket) => {
    const error = parserError(cause);
    if (!error) socket.destroy();
    else if (inFlight.has(socket)) inFlight.whenSent(socket).then(() => socket.destroy());
    else errors.sendRaw(socket, error);
  });
  // Without a listener Node closes the connection without a response.
  server.on('connect', (_request, socket) => {
    // Node has released it: an error would end the process, and unread it would never end.
    socket.on('error', () => undefined).once('finish', () => socket.destroy());
    socket.resume();
    errors.sendRaw(socket, methodNotAllowed('GET, HEAD, POST, OPTIONS'));
  });
  // Node's 511 connections that wait to be accepted overflow in a second of new streams.
  server.listen({ port: options.port, host, backlog: 4_096 });
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : options.port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    drain,
    close: () => closeServer(server),
  };
};
