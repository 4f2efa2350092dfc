import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import type { Clock } from '../support/clock.ts';
import { writeWithin } from './write-within.ts';

/** The head of a streamed answer, as handlers give it to the platform. */
export type Prelude = {
  statusCode?: number;
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  cookies?: string[];
};

type Handler = (...parameters: never[]) => unknown;

/** What the real runtime marks a streaming handler with. */
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');
/** The platform's content type for an answer that never announced a head. */
const NO_PRELUDE: Prelude = { headers: { 'content-type': 'application/octet-stream' } };

const preludes = new WeakMap<Writable, Prelude>();

const writeHead = (response: ServerResponse, prelude: Prelude) => {
  const { statusCode = 200, headers = {}, multiValueHeaders = {}, cookies = [] } = prelude;
  response.writeHead(statusCode, {
    ...headers,
    ...multiValueHeaders,
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  });
  response.flushHeaders();
};

/** The stream that a handler writes to; the head goes out with its first write, even an empty one. */
export const createResponseStream = (response: ServerResponse, clock: Clock): Writable => {
  const stream: Writable = new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      if (!response.headersSent) writeHead(response, preludes.get(stream) ?? NO_PRELUDE);
      if (chunk.byteLength === 0) callback();
      else writeWithin(response, chunk, { clock, callback });
    },
    final: (callback) => {
      if (!response.headersSent) writeHead(response, NO_PRELUDE);
      response.end(callback);
    },
  });
  response.once('close', () => {
    if (!response.writableFinished) stream.destroy(new Error('The client has gone.'));
  });
  return stream.on('error', () => undefined);
};

const streamifyResponse = <T extends Handler>(handler: T): T =>
  Object.assign(handler, { [STREAMING]: 'response' });

/** The same stream, whose head is `prelude`. */
export const withPrelude = (stream: Writable, prelude: Prelude): Writable => {
  preludes.set(stream, prelude);
  return stream;
};

// AWS clients put an object of their own at the same place, before or after this runs.
const existing: unknown = Reflect.get(globalThis, 'awslambda');
Object.assign(globalThis, {
  awslambda: Object.assign(existing ?? {}, {
    streamifyResponse,
    HttpResponseStream: { from: withPrelude },
  }),
});
