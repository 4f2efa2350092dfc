import { once } from 'node:events';
import type { Server } from 'node:http';
import { closeServer } from '../lambdas/web/connections.ts';

/** Longer than any pause in a test, so that no idle connection closes just as it is reused. */
const KEEP_ALIVE_MS = 600_000;

export type Listening = { url: string; close(): Promise<void> };

/** Starts a server on a free port of the loopback address, unreachable from other machines. */
export const listen = async (server: Server): Promise<Listening> => {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () => closeServer(server),
  };
};
