import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { closeServer } from '../lambdas/web/connections.ts';

/** Longer than any pause in a test, so that no idle connection closes just as it is reused. */
const KEEP_ALIVE_MS = 600_000;

const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Whether a web page of another site sent the request, or one whose host name leads to this computer (DNS
 * rebinding). A browser sends the name in `host`, and `origin` or `sec-fetch-site`, which no page can change.
 */
export const isForeign = (headers: Headers): boolean =>
  !LOOPBACK_HOST.test(String(headers.host)) || isOtherSite(headers);

/** Whether a web page of another site sent the request, as the browser says. */
export const isOtherSite = (parts: Headers): boolean => {
  const { host, origin, 'sec-fetch-site': site = 'none' } = parts;
  const isOwnOrigin =
    origin === undefined || String(origin).replace(/^https?:/, '') === `//${host}`;
  return !isOwnOrigin || !/^(?:none|same-origin)$/.test(`${site}`);
};

/** The embedded services have no page, so that every origin is another site's. */
const isFromProgram = ({ headers }: IncomingMessage): boolean =>
  headers.origin === undefined && !isForeign(headers);

/** Rejects requests before the listeners that the server has. */
const guard = (server: Server, accepts: (request: IncomingMessage) => boolean): void => {
  const listeners = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!accepts(request)) response.writeHead(403, { connection: 'close' }).end();
    else for (const listener of listeners) listener.call(server, request, response);
  });
};

export type Listening = { url: string; close(): Promise<void> };

/**
 * Starts a server on a free port of the loopback address, unreachable from other machines, and by default from
 * the pages of a browser of this one.
 */
export const listen = async (
  server: Server,
  accepts: (request: IncomingMessage) => boolean = isFromProgram,
): Promise<Listening> => {
  guard(server, accepts);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return { url: `http://127.0.0.1:${address.port}`, close: () => closeServer(server) };
};
