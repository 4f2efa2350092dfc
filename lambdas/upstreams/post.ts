import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { addressOf } from '../aws/json-service.ts';
import type { JsonSource } from '../protocols/json.ts';
import type { HeaderMap } from '../protocols/protocol.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import type { Clock } from '../support/clock.ts';
import { toUtf8 } from '../support/utf8.ts';
import { CONNECT_MS } from './deadlines.ts';
import { unchangedListsOf } from './unchanged-lists.ts';

type SendOptions = {
  url: URL;
  headers: HeaderMap;
  body: Uint8Array;
  clock: Clock;
};

export type PostOptions = SendOptions & { agent: Agent; signal: AbortSignal };

/** One request in flight: one function ends it, one classifies what ended it. */
export type Post = {
  /** Status and headers. @throws UpstreamError */
  response: Promise<IncomingMessage>;
  /** Destroys the connection; every later error of this request becomes `reason`. */
  fail(reason: UpstreamError): void;
  /** Maps an error of this connection to its cause. */
  errorOf(error: unknown): UpstreamError;
  /** Response complete: `close` drains the socket for reuse instead of destroying it. */
  complete(): void;
  /** Releases the connection. Idempotent. */
  close(): void;
};

/** How long a complete response may take to end before its connection is destroyed. */
const DRAIN_MS = 1_000;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** Whether the failure is that of a kept-alive connection which the upstream had closed. */
const wasStale = (request: ClientRequest | undefined, error: unknown): boolean =>
  request?.reusedSocket === true && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));

const classify = (cause: unknown, wasConnected: boolean): UpstreamError => {
  if (cause instanceof UpstreamError) return cause;
  const code = codeOf(cause);
  if (code.startsWith('HPE_')) return new UpstreamError('malformed', 'not HTTP', { cause });
  const kind = wasConnected ? 'reset' : 'connect';
  return new UpstreamError(kind, `the connection failed: ${code}`, { cause });
};

/** The abort reason distinguishes a deadline from a client that disconnected. */
const errorOfAbort = ({ reason }: AbortSignal): UpstreamError =>
  reason instanceof UpstreamError
    ? reason
    : new UpstreamError('aborted', 'the client disconnected');

/** Discards the rest of a response, and destroys it after a timeout. */
const drain = (answer: IncomingMessage, clock: Clock) => {
  const cancelCut = clock.after(DRAIN_MS, () => answer.destroy());
  answer.once('close', cancelCut).resume();
};

type SendEvents = {
  onConnected(): void;
  onConnectTimeout(): void;
  onResponse(response: IncomingMessage): void;
  onError(error: Error): void;
  /** The connection is over; after `upgrade` (101) without `onResponse` or `onError` before it. */
  onClose(): void;
};

/** Calls `onConnected` once the socket is connected, TLS handshake included. */
const whenConnected = (socket: Socket, protocol: string, onConnected: () => void) => {
  if (!socket.connecting) onConnected();
  else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', onConnected);
};

/** Sends one POST through `agent`, or on a new connection. Never follows a redirect. */
const sendRequest = (
  { url, headers, body, clock }: SendOptions,
  agent: Agent | false,
  { onConnected, onConnectTimeout, onResponse, onError, onClose }: SendEvents,
): ClientRequest => {
  const open = url.protocol === 'https:' ? requestHttps : requestHttp;
  const cancelTimeout = clock.after(CONNECT_MS, onConnectTimeout);
  const connected = () => {
    cancelTimeout();
    onConnected();
  };
  return open({ ...addressOf(url), method: 'POST', headers, agent })
    .on('socket', (socket) => whenConnected(socket, url.protocol, connected))
    .on('response', onResponse)
    .on('error', onError)
    .on('close', () => {
      cancelTimeout();
      onClose();
    })
    .end(body);
};

/**
 * Sends a request; retries once if its kept-alive connection was stale. `signal` aborts it. Never throws:
 * every failure, an abort included, rejects `response` or errors the response's body.
 */
export const post = ({ agent, signal, ...options }: PostOptions): Post => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let request: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let failure: UpstreamError | undefined;
  let isConnected = false;
  let isComplete = false;
  let isClosed = false;

  const fail = (reason: UpstreamError) => {
    failure ??= reason;
    (response ?? request)?.destroy(reason);
    // Destroying a request that is already destroyed emits no event.
    reject(reason);
  };
  const errorOf = (error: unknown) => failure ?? classify(error, isConnected);

  const send = (through: Agent | false) => {
    const sending = sendRequest(options, through, {
      onConnected: () => {
        isConnected = true;
      },
      onConnectTimeout: () =>
        fail(new UpstreamError('connect', `no connection within ${CONNECT_MS} ms`)),
      onResponse: (message) => {
        // Prevents an unhandled 'error' event while the body is not being read.
        response = message.on('error', () => undefined);
        resolve(message);
      },
      onError: (error) => {
        // Retries once on a new connection: other pooled ones may be stale too.
        if (through && !failure && !response && wasStale(request, error)) send(false);
        else reject(errorOf(error));
      },
      // A connection that was replaced is not this request's any more.
      onClose: () => {
        if (sending === request && !response)
          reject(errorOf(new Error('closed without a response')));
      },
    });
    request = sending;
  };

  const onAbort = () => fail(errorOfAbort(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  send(agent);
  if (signal.aborted) onAbort();

  const close = () => {
    if (isClosed) return;
    isClosed = true;
    signal.removeEventListener('abort', onAbort);
    if (response && isComplete && !response.destroyed) drain(response, options.clock);
    else (response ?? request)?.destroy();
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

// --- bodies ---

/** Bytes. A smaller body is encoded as one text: in pieces 90 KB of tools take a sixth more CPU, 300 KB of code a tenth less. */
const LARGE = 256_000;

/** The JSON of a list, each item a piece. */
function* piecesOfList(items: unknown[]): Generator<string, void, void> {
  yield '[';
  for (const [index, item] of items.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
  }
  yield ']';
}

/** The JSON of an object, each member a piece: a list as its caller sent it, or each item of a changed one. */
function* piecesOf(
  value: Record<string, unknown>,
  source: JsonSource,
): Generator<string, void, void> {
  const unchanged = unchangedListsOf(source);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  yield '{';
  for (const [index, [name, member]] of members.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(name)}:`;
    const sent = Array.isArray(member) ? unchanged(name, member) : undefined;
    if (sent !== undefined) yield sent;
    else if (Array.isArray(member)) yield* piecesOfList(member);
    else yield JSON.stringify(member);
  }
  yield '}';
}

/**
 * Returns the bytes of an object's JSON. That of a large body is written piece by piece: a text of the whole takes
 * memory twice more before the bytes, 9 MB of a body of 4.5 MB.
 */
export const encodeJson = (value: Record<string, unknown>, source?: JsonSource): Buffer => {
  if (source !== undefined && source.bytes >= LARGE) {
    return toUtf8(piecesOf(value, source), source.bytes);
  }
  const text = JSON.stringify(value);
  return toUtf8([text], text.length);
};
