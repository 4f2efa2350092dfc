import type { IncomingMessage } from 'node:http';
import { type HttpRequest, queryOf } from '../http/read-event.ts';

/** Every header with every value it was sent with: Node itself drops a second `authorization`. */
export const joinHeaders = (rawHeaders: string[]): Record<string, string> => {
  // Without a prototype, no name is inherited.
  const headers: Record<string, string> = Object.create(null);
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : `${earlier},${value}`;
  }
  return headers;
};

/** Path and query of a request line, neither decoded nor tidied. Proxies send the whole address. */
export const splitTarget = (target: string): { path: string; query: string } => {
  const local = target.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = local.indexOf('?');
  return mark === -1
    ? { path: local, query: '' }
    : { path: local.slice(0, mark), query: local.slice(mark + 1) };
};

export type RequestHead = Omit<HttpRequest, 'body'>;

export const readHead = (request: IncomingMessage): RequestHead => {
  const { path, query } = splitTarget(request.url ?? '/');
  return {
    method: request.method ?? 'GET',
    path,
    headers: joinHeaders(request.rawHeaders),
    source: request.socket.remoteAddress ?? '',
    query: query === '' ? {} : queryOf(query),
  };
};
