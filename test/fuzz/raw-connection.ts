import { connect } from 'node:net';

/** How long a server may say nothing before the client believes that it waits for more. Milliseconds. */
const QUIET_MS = 60;

/**
 * Sends the pieces, waits until the server has closed or says no more, ends, and gives all that came.
 * Resolves when the connection is closed on both sides.
 */
export const talk = (url: string, pieces: Uint8Array[]): Promise<Buffer> => {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const heard: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const quiet = setTimeout(() => socket.end(), QUIET_MS);
  socket
    .on('data', (data: Buffer) => {
      heard.push(data);
      quiet.refresh();
    })
    // A server may reset whoever goes on talking after its last word.
    .on('error', () => undefined)
    .on('close', () => {
      clearTimeout(quiet);
      resolve(Buffer.concat(heard));
    });
  const sendFrom = (at: number) => {
    const piece = pieces[at];
    if (piece === undefined || socket.destroyed) return;
    quiet.refresh();
    socket.write(piece, () => setImmediate(sendFrom, at + 1));
  };
  socket.once('connect', () => sendFrom(0));
  return promise;
};
