import type { Exchange, ExchangeHandler } from '../http-client/connection.ts';
import type { HttpConnections } from '../http-client/connections.ts';
import type { ResponseHead } from '../http-client/response-head.ts';
import type { HeaderMap } from '../protocols/protocol.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { type Bytes, sizeOf } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import { type Chunks, createResponseBody, type ResponseBody } from './response-body.ts';

export type PostOptions = {
  url: URL;
  headers: HeaderMap;
  body: Bytes;
  connections: HttpConnections;
  clock: Clock;
  signal: AbortSignal;
  /** Before the retry; if it throws, there is none. */
  onRepeat?: (() => Promise<void>) | undefined;
};

/** A response whose body may still be on its way. */
export type UpstreamResponse = ResponseHead & { chunks: Chunks };

/** One request in flight: one function ends it, one classifies what ended it. */
export type Post = {
  /** @throws UpstreamError */
  response: Promise<UpstreamResponse>;
  /** Closes the connection; every later error of this request becomes `reason`. */
  fail(reason: UpstreamError): void;
  /** Maps an error of this connection to its cause. */
  errorOf(error: unknown): UpstreamError;
  /** Response complete: `close` drains the connection for reuse instead of closing it. */
  complete(): void;
  /** Releases the connection. Idempotent. */
  close(): void;
};

/** Between two looks at a reused connection without a byte of the response, and their number. */
const LOOK_MS = 2_000;
const LOOKS = 5;

/** How long a complete response may take to end before its connection is closed. */
const DRAIN_MS = 1_000;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** Whether the failure is that of a kept-alive connection which the upstream had closed. */
const isStale = (error: unknown): boolean => ['ECONNRESET', 'EPIPE'].includes(codeOf(error));

const classify = (cause: unknown, wasConnected: boolean): UpstreamError => {
  if (cause instanceof UpstreamError) return cause;
  const code = codeOf(cause);
  if (code === 'NOT_HTTP') return new UpstreamError('malformed', 'not HTTP', { cause });
  const kind = wasConnected ? 'reset' : 'connect';
  return new UpstreamError(kind, `the connection failed: ${code}`, { cause });
};

/** The abort reason distinguishes a deadline from a client that disconnected. */
export const errorOfAbort = ({ reason }: AbortSignal): UpstreamError =>
  reason instanceof UpstreamError
    ? reason
    : new UpstreamError('aborted', 'the client disconnected');

/** The credentials in a URL, which a header of the request replaces. */
const basicAuthOf = ({ username, password }: URL): HeaderMap => {
  if (username === '' && password === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(text).toString('base64')}` };
};

/** How the request is framed is not the catalog's. */
const FRAMING = new Set(['connection', 'transfer-encoding']);

/** Of equal names the last counts: a target's headers, in any case, replace the protocol's. */
const headersOf = ({ url, headers, body }: PostOptions): HeaderMap => {
  const sent: HeaderMap = { host: url.host, ...basicAuthOf(url) };
  for (const name in headers) {
    const lowerCased = name.toLowerCase();
    if (!FRAMING.has(lowerCased)) sent[lowerCased] = headers[name] ?? '';
  }
  sent['content-length'] = String(sizeOf(body));
  return sent;
};

/**
 * Sends a request; retries once if its kept-alive connection was stale. `signal` aborts it. Every failure, an abort
 * included, rejects `response` or fails the reads of its body. @throws Error for a header that cannot be sent
 */
export const post = (options: PostOptions): Post => {
  const { connections, clock, signal, onRepeat } = options;
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamResponse>();
  const { url, body } = options;
  const path = url.pathname + url.search;
  const request = { method: 'POST' as const, path, headers: headersOf(options), body };
  let sent: Exchange | undefined;
  let received: ResponseBody | undefined;
  let failure: UpstreamError | undefined;
  let isConnected = false;
  let isComplete = false;
  let isOver = false;
  let isClosed = false;
  let cancelDrain = () => {};
  let cancelLook = () => {};

  const fail = (reason: UpstreamError) => {
    failure ??= reason;
    isOver = true;
    cancelLook();
    if (reason.kind === 'first-event-timeout') sent?.expire();
    else sent?.destroy();
    reject(reason);
    received?.fail(reason);
  };
  const errorOf = (error: unknown) => failure ?? classify(error, isConnected);

  const end = (error: unknown) => {
    isOver = true;
    reject(errorOf(error));
    received?.break(error);
  };
  /** On a new connection: other idle ones may be stale too. */
  const repeat = () => {
    if (!isOver) start(connections.sendFresh);
  };

  const handler: ExchangeHandler = {
    onConnect: () => {
      isConnected = true;
    },
    onHead: (head) => {
      cancelLook();
      const flow = { pause: () => sent?.pause(), resume: () => sent?.resume() };
      received = createResponseBody({ ...flow, clock, expire: fail });
      resolve({ ...head, chunks: received });
    },
    onData: (bytes) => {
      if (!isClosed) received?.push(bytes);
    },
    onEnd: () => {
      isOver = true;
      cancelDrain();
      received?.end();
    },
    onError: (error) => {
      cancelDrain();
      cancelLook();
      if (!sent?.isReused || sent.hasBytes() || !isStale(error)) return end(error);
      if (onRepeat) onRepeat().then(repeat, () => end(error));
      else repeat();
    },
  };

  const start = (send: HttpConnections['send']) => {
    sent = send(request, handler);
    isConnected = sent.isReused;
    if (sent.isReused) lookAt(sent, LOOKS);
  };

  /**
   * Replaces a connection that died without a word, e.g. while the platform had frozen the process: its provider has
   * not got the request. One that is slow to respond has, and is waited for, since a second request would cost money.
   */
  const lookAt = (exchange: Exchange, looks: number) => {
    cancelLook = clock.after(LOOK_MS, async () => {
      const isDead = await exchange.isUnacknowledged();
      if (isOver || sent !== exchange || exchange.hasBytes()) return;
      if (isDead) {
        exchange.expire();
        start(connections.sendFresh);
      } else if (looks > 1) lookAt(exchange, looks - 1);
    });
  };

  const onAbort = () => fail(errorOfAbort(signal));
  if (signal.aborted) {
    onAbort();
  } else {
    start(connections.send);
    signal.addEventListener('abort', onAbort, { once: true });
  }

  const cut = () => fail(new UpstreamError('aborted', 'the request was closed'));
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    signal.removeEventListener('abort', onAbort);
    if (isOver) return;
    if (!isComplete) return cut();
    // Discards the rest of the response.
    cancelDrain = clock.after(DRAIN_MS, cut);
    sent?.resume();
  };
  const complete = () => {
    isComplete = true;
  };

  return { response: promise, fail, errorOf, complete, close };
};

/**
 * Changes `generator` so that `return` and `throw` run `close` at once. A generator's `finally` does not run
 * if it was never started, and waits behind a pending `next`; the socket must close in both cases.
 */
export const closing = <T>(
  generator: AsyncGenerator<T, void, void>,
  close: () => void,
): AsyncGenerator<T, void, void> => {
  const { return: end, throw: fail } = generator;
  return Object.assign(generator, {
    return: () => {
      close();
      return end.call(generator);
    },
    throw: (error: unknown) => {
      close();
      return fail.call(generator, error);
    },
  });
};
