import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Bytes } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import {
  type Connection,
  type ConnectionEvents,
  createConnection,
  type Exchange,
  type ExchangeHandler,
} from './connection.ts';

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, encoded. */
  path: string;
  /** Names in lower case, with `host`, and `content-length` of the body. */
  headers: Record<string, string>;
  body: Bytes;
};

export type HttpConnections = ReturnType<typeof createHttpConnections>;

const NAME = /^[!#$%&'*+.^`|~\w-]+$/;
/** Others would end the line, and with it the header. */
const VALUE = /^[\t -~\x80-\xff]*$/;

const headOf = ({ method, path, headers }: HttpRequest): string => {
  let head = `${method} ${path} HTTP/1.1\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!NAME.test(name) || !VALUE.test(value)) throw new Error('A header cannot be sent.');
    head += `${name}: ${value}\r\n`;
  }
  return `${head}connection: keep-alive\r\n\r\n`;
};

/** Idle connections that are kept of one origin: Lambda gives an environment 1,024 descriptors for all. */
const MAX_IDLE = 32;

/**
 * What is between the two ends (address translation, load balancers) forgets a connection without a packet for one to six
 * minutes, and a process that the platform had frozen learns of it from no packet: a request on such a connection would
 * wait for its timeout. The clock is the wall's, because the monotonic one may have stood still.
 */
const MAX_IDLE_MS = 60_000;

/** Milliseconds that the server keeps an idle connection, less a second for a request that is on its way. */
const idleMsOf = (keepAlive: string | undefined): number => {
  const seconds =
    /(?:^|[ ,])timeout=(\d{1,6})/i.exec(keepAlive ?? '')?.[1] ?? Number.POSITIVE_INFINITY;
  return Math.min(Number(seconds) * 1_000 - 1_000, MAX_IDLE_MS);
};

export type ConnectionOptions = {
  clock: Clock;
  /** Until a new connection is there, TLS handshake included. */
  connectMs: number;
};

export const timeoutError = (what: string, ms: number): Error =>
  Object.assign(new Error(`${what} took more than ${ms} ms.`), {
    ...{ name: 'TimeoutError', code: 'ETIMEDOUT' },
  });

/** Connections to one origin, kept alive between requests: an address with `http:` or `https:`, whose path is ignored. */
export const createHttpConnections = (origin: URL, { clock, connectMs }: ConnectionOptions) => {
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000 };
  const idle: { connection: Connection; until: number }[] = [];
  /** Lets the next connection skip most of the TLS handshake. */
  let session: Buffer | undefined;
  let isDestroyed = false;

  const openTcp = () => connectTcp({ ...options, port: Number(origin.port) || 80 });
  const openTls = () =>
    connectTls({
      ...{ ...options, port: Number(origin.port) || 443, ...(session && { session }) },
      // SNI has no addresses; without a name the certificate is checked for `host`.
      ...{ servername: isIP(host) ? '' : host, ALPNProtocols: ['http/1.1'] },
    }).on('session', (next) => {
      session = next;
    });

  const closeIdle = () => {
    for (const { connection } of idle.splice(0)) connection.destroy();
  };

  /**
   * Closes connections that were idle for too long. Without a timer, which would keep the process alive. What is closed
   * leaves the list by its event.
   */
  const closeExpired = (): void => {
    const now = clock.now();
    for (const { connection, until } of idle) if (until <= now) connection.destroy();
  };

  const events: ConnectionEvents = {
    onIdle: (connection, keepAlive) => {
      if (isDestroyed || idle.length >= MAX_IDLE) connection.destroy();
      else idle.push({ connection, until: clock.now() + idleMsOf(keepAlive) });
    },
    onUnanswered: () => {
      session = undefined;
      closeIdle();
    },
    onClose: (closed) => {
      const index = idle.findIndex(({ connection }) => connection === closed);
      if (index !== -1) idle.splice(index, 1);
    },
  };

  const open = (): Connection => {
    const isTls = origin.protocol === 'https:';
    const socket = isTls ? openTls() : openTcp();
    const connected = isTls ? 'secureConnect' : 'connect';
    const cancel = clock.after(connectMs, () =>
      socket.destroy(timeoutError('Connecting', connectMs)),
    );
    socket.once(connected, cancel).once('close', cancel);
    return createConnection(socket, connected, events);
  };

  /** The one that was used last, which its server closes last. */
  const takeIdle = (): Connection | undefined => {
    for (let found = idle.pop(); found; found = idle.pop()) {
      if (found.connection.isOpen()) return found.connection;
    }
    return undefined;
  };

  return {
    /**
     * Sends a request on the connection that was used last, or on a new one. Never repeats it, and never follows a
     * redirect. @throws Error for a header that cannot be sent
     */
    send: (request: HttpRequest, handler: ExchangeHandler): Exchange => {
      const head = headOf(request);
      closeExpired();
      return (takeIdle() ?? open()).send(head, request.body, handler);
    },
    /** The same on a new connection: others may have been closed by now. */
    sendFresh: (request: HttpRequest, handler: ExchangeHandler): Exchange =>
      open().send(headOf(request), request.body, handler),
    closeExpired,
    /** Closes idle connections, and others after their response. */
    destroy: (): void => {
      isDestroyed = true;
      closeIdle();
    },
  };
};

/** Returns the connections to a URL's origin, one pool for each; closes those to any origin that were idle for too long. */
export const createConnectionPools = (
  options: ConnectionOptions,
): ((url: URL) => HttpConnections) => {
  const pools = new Map<string, HttpConnections>();
  return (url) => {
    for (const other of pools.values()) other.closeExpired();
    const pool = pools.get(url.origin) ?? createHttpConnections(url, options);
    pools.set(url.origin, pool);
    return pool;
  };
};
