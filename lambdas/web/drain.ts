import type { Server, ServerResponse } from 'node:http';

/**
 * Lets a server end well: it takes no further connection, answers what is under way, and closes each
 * connection with its last answer instead of keeping it alive. Resolves when all are closed.
 */
export const createDrain = (server: Server): (() => Promise<void>) => {
  let isDraining = false;
  server.on('request', (_, response: ServerResponse) => {
    response.once('close', () => {
      // A turn later, when Node has counted the connection as idle.
      if (isDraining) setImmediate(() => server.closeIdleConnections());
    });
  });
  return () => {
    isDraining = true;
    return new Promise((resolve) => {
      server.close(() => resolve());
    });
  };
};
