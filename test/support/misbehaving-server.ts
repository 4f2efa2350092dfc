import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export type Seen = {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The body as it was sent. */
  text: string;
};

export type MisbehavingServer = {
  url: string;
  seen: Seen[];
  sockets: Set<Socket>;
  close(): Promise<void>;
};

/** An upstream on loopback that reads each request and then does what the test says. */
export const startMisbehaving = async (
  act: (response: ServerResponse, request: IncomingMessage, count: number) => void,
): Promise<MisbehavingServer> => {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    const { method, url, headers } = request;
    text(request).then(
      (body) => {
        seen.push({ method, url, headers, body: JSON.parse(body), text: body });
        act(response, request, seen.length);
      },
      () => undefined,
    );
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${address.port}`, seen, sockets, close };
};
