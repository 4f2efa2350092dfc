import type { Readable } from 'node:stream';
import type middy from '@middy/core';
import type { Reply } from '../../endpoints/endpoint.ts';
import type { Exchange } from '../exchange.ts';

/** What the platform's runtime takes: headers first, then a text or a stream. */
export type PlatformResponse = {
  statusCode: number;
  headers: Record<string, string>;
  body: string | Readable;
};

/** A middleware between the outermost two: the event is an exchange, the response a reply. */
export type Step = middy.MiddlewareObj<Exchange, Reply>;
