import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Answers that a connection still owes or is in the middle of. */
export type UnderWay = {
  began(request: IncomingMessage, response: ServerResponse): void;
  /** True when nothing may be written to the connection: it would stand inside an answer, or in its place. */
  on(socket: Duplex): boolean;
};

export const createUnderWay = (): UnderWay => {
  const bySocket = new WeakMap<Duplex, Set<ServerResponse>>();
  return {
    began: (request, response) => {
      const answers = bySocket.get(request.socket) ?? new Set();
      bySocket.set(request.socket, answers.add(response));
      response.once('close', () => answers.delete(response));
    },
    // A request that is still being read has no other answer than what is wrong with it.
    on: (socket) =>
      [...(bySocket.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete),
  };
};
