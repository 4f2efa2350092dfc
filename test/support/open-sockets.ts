import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

const accepted = new Set<Socket>();

// Node tells of every connection that a server of this thread accepts.
subscribe('net.server.socket', (message) => {
  if (typeof message !== 'object' || message === null || !('socket' in message)) return;
  const { socket } = message;
  if (!(socket instanceof Socket)) return;
  accepted.add(socket);
  socket.once('close', () => accepted.delete(socket));
});

/** The server's side of the connections that are open at the address. */
export const openSocketsAt = (url: string): Socket[] =>
  [...accepted].filter(({ localPort }) => localPort === Number(new URL(url).port));
