import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { UpstreamError } from '../protocols/upstream-error.ts';
import type { Clock } from '../support/clock.ts';
import { CONNECT_MS } from './deadlines.ts';
import { type SendOptions, sendRequest } from './send-request.ts';

export type PostOptions = SendOptions & { agent: Agent; signal: AbortSignal };

/** One request under way, with one place to end it and one reading of whatever ended it. */
export type Post = {
  /** The head of the answer. @throws UpstreamError */
  response: Promise<IncomingMessage>;
  /** Ends the exchange; `fault` is why. */
  fail(fault: UpstreamError): void;
  /** What any error of this exchange means. */
  errorOf(error: unknown): UpstreamError;
  /** The answer has said all: what is left of it is read, not cut off, by `close`. */
  complete(): void;
  /** Lets go of the connection. Safe to call twice. */
  close(): void;
};

/** How long an answer that has said all may take to end, so that its connection can be used again. */
const DRAIN_MS = 1_000;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** A kept-alive connection that the upstream closed meanwhile fails like this on its next use. */
const wasStale = (request: ClientRequest | undefined, error: unknown): boolean =>
  request?.reusedSocket === true && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));

const classify = (cause: unknown, wasConnected: boolean): UpstreamError => {
  if (cause instanceof UpstreamError) return cause;
  const code = codeOf(cause);
  if (code.startsWith('HPE_')) return new UpstreamError('malformed', 'not HTTP', { cause });
  const kind = wasConnected ? 'reset' : 'connect';
  return new UpstreamError(kind, `the connection failed: ${code}`, { cause });
};

/** Who ends a call may say why: a deadline is told apart from a caller who has left. */
const errorOfAbort = ({ reason }: AbortSignal): UpstreamError =>
  reason instanceof UpstreamError ? reason : new UpstreamError('aborted', 'the caller has gone');

/** Reads an answer to its end without keeping it, and cuts it off if that takes too long. */
const drain = (answer: IncomingMessage, clock: Clock) => {
  const cancelCut = clock.after(DRAIN_MS, () => answer.destroy());
  answer.once('close', cancelCut).resume();
};

/**
 * Sends a request, once more if its kept-alive connection was stale, until `signal` ends it. Throws nothing:
 * every failure, an abort included, is what `response` or the answer's body fails with.
 */
export const post = ({ agent, signal, ...options }: PostOptions): Post => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let request: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let fault: UpstreamError | undefined;
  let isConnected = false;
  let isComplete = false;
  let isClosed = false;

  const fail = (reason: UpstreamError) => {
    fault ??= reason;
    (response ?? request)?.destroy(reason);
  };
  const errorOf = (error: unknown) => fault ?? classify(error, isConnected);

  const send = (through: Agent | false) => {
    request = sendRequest(options, through, {
      onConnected: () => {
        isConnected = true;
      },
      onConnectTimeout: () =>
        fail(new UpstreamError('connect', `no connection within ${CONNECT_MS} ms`)),
      onResponse: (message) => {
        // Errors are read where the body is; this listener is for the time when nobody reads.
        response = message.on('error', () => undefined);
        resolve(message);
      },
      onError: (error) => {
        // Once, and on a connection of its own: the pool may hold more of the same age.
        if (through && !fault && !response && wasStale(request, error)) send(false);
        else reject(errorOf(error));
      },
    });
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
