import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Exchange } from '../../../lambdas/http-client/connection.ts';
import type { HttpConnections, HttpRequest } from '../../../lambdas/http-client/connections.ts';
import type { ResponseHead } from '../../../lambdas/http-client/response-head.ts';

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

export type RawServer = {
  origin: URL;
  /** Every connection so far, also those that are closed. */
  sockets: Socket[];
  /** How many connections are open. */
  open(): number;
  /** Refuses further connections. */
  stopListening(): void;
};

/** A server that does what the test says with each packet; `count` is that of all packets. */
export const startRawServer = async (
  onPacket: (socket: Socket, text: string, count: number) => void,
  { host = '127.0.0.1', onConnection = (_: Socket) => {} } = {},
): Promise<RawServer> => {
  const sockets: Socket[] = [];
  let count = 0;
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined).setNoDelay();
    onConnection(socket);
    socket.on('data', (bytes) => {
      count += 1;
      onPacket(socket, bytes.toString('latin1'), count);
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const closed = once(server, 'close');
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await closed;
  });
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    origin: new URL(`http://${name}:${port}`),
    sockets,
    open: () => sockets.filter(({ destroyed }) => !destroyed).length,
    stopListening: () => void server.close(),
  };
};

/** A request in flight, and each call of its handler in short. */
export type Asked = {
  exchange: Exchange;
  calls: string[];
  /** Rejects with what the handler gets. */
  response: Promise<{ head: ResponseHead; body: string }>;
};

const REQUEST: HttpRequest = { method: 'POST', path: '/', headers: { host: 'test' }, body: '' };

type Asking = Partial<HttpRequest> & { isFresh?: boolean; onHead?: (asked: Exchange) => void };

/** Sends a request; its handler writes down what it gets. */
export const ask = (
  connections: HttpConnections,
  { isFresh = false, onHead, ...request }: Asking = {},
): Asked => {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<Asked['response']>>();
  promise.catch(() => undefined);
  const calls: string[] = [];
  let head: ResponseHead = { status: 0, headers: {} };
  let body = '';
  const send = isFresh ? connections.sendFresh : connections.send;
  const exchange: Exchange = send(
    { ...REQUEST, ...request },
    {
      onConnect: () => calls.push('connect'),
      onHead: (got) => {
        head = got;
        calls.push('head');
        onHead?.(exchange);
      },
      onData: (bytes) => {
        body += bytes.toString('latin1');
        calls.push('data');
      },
      onEnd: () => {
        calls.push('end');
        resolve({ head, body });
      },
      onError: (error) => {
        calls.push('error');
        reject(error);
      },
    },
  );
  return { exchange, calls, response: promise };
};

/** Sends a request and resolves to the body of its response. */
export const bodyOf = async (connections: HttpConnections, asking?: Asking): Promise<string> =>
  (await ask(connections, asking).response).body;
