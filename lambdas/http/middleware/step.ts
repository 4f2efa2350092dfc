import type { Readable } from 'node:stream';
import type middy from '@middy/core';
import type { Reply } from '../../endpoints/endpoint.ts';
import type { AnyExchange, Exchange } from '../exchange.ts';

/** What the platform's runtime takes: headers first, then a text or a stream. */
export type PlatformResponse = {
  statusCode: number;
  headers: Record<string, string>;
  body: string | Readable;
};

/** A middleware between the outermost two: the event is an exchange, the response a reply. */
export type Step<On = Exchange> = middy.MiddlewareObj<On, Reply>;
/** One that does not care whose routes they are. */
export type SharedStep = Step<AnyExchange>;
