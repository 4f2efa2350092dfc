import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Closes a server at once, and every connection with it. */
export const closeServer = async (server: Server): Promise<void> => {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  server.closeAllConnections();
  await closed;
};

/**
 * Graceful shutdown: accepts no new connection, completes the responses in flight, and closes each
 * connection after its last response instead of keeping it alive. Resolves when all are closed.
 */
export const createDrain = (server: Server): (() => Promise<void>) => {
  let isDraining = false;
  server.on('request', (_, response: ServerResponse) => {
    response.once('close', () => {
      // On the next turn, when Node counts the connection as idle.
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

/** Responses in flight, by connection; a response counts until its request is received too. */
export const createInFlight = () => {
  const bySocket = new WeakMap<Duplex, Set<ServerResponse>>();
  /** A request that is still being read may get an error as its only response. */
  const promisedOn = (socket: Duplex): ServerResponse[] =>
    [...(bySocket.get(socket) ?? [])].filter(({ headersSent, req }) => headersSent || req.complete);
  return {
    add: (request: IncomingMessage, response: ServerResponse): void => {
      const responses = bySocket.get(request.socket) ?? new Set();
      bySocket.set(request.socket, responses.add(response));
      response.once('close', () => {
        if (request.complete) responses.delete(response);
        // Answered before its end: what follows on the connection is still its body.
        else request.once('end', () => responses.delete(response));
      });
    },
    /** True if nothing may be written to the connection: it would corrupt or replace a response. */
    has: (socket: Duplex): boolean => promisedOn(socket).length > 0,
    /** Resolves when the responses to the requests that were received whole have been sent. */
    whenSent: (socket: Duplex): Promise<unknown> =>
      Promise.all(
        promisedOn(socket).map(
          (response) =>
            response.closed || new Promise((resolve) => response.once('close', resolve)),
        ),
      ),
  };
};
