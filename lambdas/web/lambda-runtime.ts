import { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';

/** Status and headers of a streamed response, as handlers pass them to the platform. */
export type Prelude = {
  statusCode?: number;
  headers?: Record<string, string>;
};

/** The mark that the real runtime puts on a streaming handler. */
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');
/**
 * Sets the head of a server's response; a stream of another kind has none. It is sent with the first bytes of the body,
 * in one packet, or without any after an empty write.
 */
export const withPrelude = (stream: Writable, prelude: Prelude): Writable => {
  const { statusCode = 200, headers = {} } = prelude;
  if (!(stream instanceof ServerResponse)) return stream;
  return stream.writeHead(statusCode, {
    ...headers,
    // HTTP requires it next to `upgrade`; of a response of Lambda the platform writes it.
    ...(headers.upgrade !== undefined && { connection: 'Upgrade, close' }),
  });
};

const streamifyResponse = <T extends (...parameters: never[]) => unknown>(handler: T): T =>
  Object.assign(handler, { [STREAMING]: 'response' });

// AWS's runtime client also sets this global, before or after this module runs.
const existing: unknown = Reflect.get(globalThis, 'awslambda');
Object.assign(globalThis, {
  awslambda: Object.assign(existing ?? {}, {
    streamifyResponse,
    HttpResponseStream: { from: withPrelude },
  }),
});
