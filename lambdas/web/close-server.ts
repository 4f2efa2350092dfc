import type { Server } from 'node:http';

/** Closes a server, and cuts whatever is under way. */
export const closeServer = async (server: Server): Promise<void> => {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  server.closeAllConnections();
  await closed;
};
