import type { Readable } from 'node:stream';
import type middy from '@middy/core';
import type { Reply } from '../../endpoints/endpoint.ts';
import type { AnyRequestContext, RequestContext } from '../request-context.ts';

/** What the platform's runtime takes: headers first, then a text or a stream. */
export type PlatformResponse = {
  statusCode: number;
  headers: Record<string, string>;
  body: string | Readable;
};

/** A middleware between the outermost two: the event is an exchange, the response a reply. */
export type Middleware<On = RequestContext> = middy.MiddlewareObj<On, Reply>;
/** One that does not care whose routes they are. */
export type SharedMiddleware = Middleware<AnyRequestContext>;
