import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import type { Clock } from '../support/clock.ts';
import { toUtf8 } from '../support/utf8.ts';

/** Status and headers of a streamed response, as handlers pass them to the platform. */
export type Prelude = {
  statusCode?: number;
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  cookies?: string[];
};

/** Node joins a short text with the headers before it, and measures and encodes a long one slowly. */
const SHORT = 4_096;

const toBytes = (chunk: Buffer | string): Buffer | string =>
  typeof chunk === 'string' && chunk.length > SHORT ? toUtf8([chunk], chunk.length) : chunk;

type Handler = (...parameters: never[]) => unknown;

/** The mark that the real runtime puts on a streaming handler. */
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');
/** The platform's content type for a response without a prelude. */
const NO_PRELUDE: Prelude = { headers: { 'content-type': 'application/octet-stream' } };

/** Limit of the first bytes that wait for a client. */
const STALL_MS = 60_000;
/** Slower than any line in use (16 KB a second); a whole response is one write of up to megabytes. */
const MIN_BYTES_PER_MS = 16;

/** A stream with its head, which a WeakMap would keep until a full collection, with the response. */
type ResponseStream = Writable & { prelude?: Prelude };

const writeHead = (response: ServerResponse, prelude: Prelude) => {
  const { statusCode = 200, headers = {}, multiValueHeaders = {}, cookies = [] } = prelude;
  response.writeHead(statusCode, {
    ...headers,
    ...multiValueHeaders,
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  });
};

/**
 * The stream that a handler writes to. The headers are sent with its first bytes, in one packet, or without
 * any in the turn after an empty write. A client that stops reading holds its response back, and with it the
 * upstream; after a minute it counts as disconnected.
 */
export const createResponseStream = (response: ServerResponse, clock: Clock): ResponseStream => {
  let hasBytes = false;
  let cancelStall = () => {};
  /** Calls back once the client has taken what waits for it; most of it the kernel takes at once. */
  const waitFor = (event: 'drain' | 'finish', callback: () => void) => {
    const limitMs = STALL_MS + response.writableLength / MIN_BYTES_PER_MS;
    cancelStall = clock.after(limitMs, () => response.destroy());
    response.once(event, () => {
      cancelStall();
      callback();
    });
  };
  const stream: ResponseStream = new Writable({
    decodeStrings: false,
    write: (chunk: Buffer | string, _encoding, callback) => {
      if (!response.headersSent) {
        writeHead(response, stream.prelude ?? NO_PRELUDE);
        setImmediate(() => {
          if (!hasBytes) response.flushHeaders();
        });
      }
      hasBytes ||= chunk.length > 0;
      if (chunk.length === 0 || response.write(toBytes(chunk))) callback();
      else waitFor('drain', callback);
    },
    final: (callback) => {
      if (!response.headersSent) writeHead(response, NO_PRELUDE);
      response.end();
      if (response.writableFinished) callback();
      else waitFor('finish', callback);
    },
  });
  const onClose = () => {
    cancelStall();
    if (!response.writableFinished) stream.destroy(new Error('The client disconnected.'));
  };
  // The client may have disconnected while its key was checked: no event follows.
  if (response.destroyed) onClose();
  else response.once('close', onClose);
  return stream.on('error', () => undefined);
};

const streamifyResponse = <T extends Handler>(handler: T): T =>
  Object.assign(handler, { [STREAMING]: 'response' });

/** Sets the prelude of a response stream. */
export const withPrelude = (stream: ResponseStream, prelude: Prelude): Writable =>
  Object.assign(stream, { prelude });

// AWS's runtime client also sets this global, before or after this module runs.
const existing: unknown = Reflect.get(globalThis, 'awslambda');
Object.assign(globalThis, {
  awslambda: Object.assign(existing ?? {}, {
    streamifyResponse,
    HttpResponseStream: { from: withPrelude },
  }),
});
