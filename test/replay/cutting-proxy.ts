import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export type CuttingProxy = {
  url: string;
  /** The connection of the next request is reset after this many bytes of its response. */
  cutNextAfter(bytes: number): void;
  /** Bytes of the last response, head and framing included. */
  lastBytes(): number;
  close(): Promise<void>;
};

/** A TCP proxy that resets a client's connection in the middle of a response, and not the router's. */
export const startCuttingProxy = async (target: string): Promise<CuttingProxy> => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let limit = Number.POSITIVE_INFINITY;
  let sent = 0;

  const pass = (client: Socket) => {
    const router = connect(Number(port), hostname);
    for (const socket of [client, router]) {
      sockets.add(socket.on('error', () => undefined));
      socket.once('close', () => sockets.delete(socket));
    }
    client.on('data', () => {
      if (sent > 0) limit = Number.POSITIVE_INFINITY;
      sent = 0;
    });
    client.pipe(router);
    client.once('close', () => router.destroy());
    router.on('data', (bytes: Buffer) => {
      const rest = limit - sent;
      sent += bytes.byteLength;
      if (bytes.byteLength <= rest) client.write(bytes);
      else if (!client.destroyed) {
        client.write(bytes.subarray(0, Math.max(0, rest)), () => client.resetAndDestroy());
      }
    });
    router.once('close', () => client.end());
  };

  const server = createServer(pass).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const ownPort = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${ownPort}`,
    cutNextAfter: (bytes) => {
      limit = bytes;
      sent = 0;
    },
    lastBytes: () => sent,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
