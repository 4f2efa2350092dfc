import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { listen } from '../../local/loopback.ts';

/** A server that reads each request and then puts bytes of the test's own on the connection. */
export type RawUpstream = {
  url: string;
  /** What the next answers are, in pieces. */
  say(pieces: Uint8Array[]): void;
  close(): Promise<void>;
};

export const startRawUpstream = async (): Promise<RawUpstream> => {
  let pieces: Uint8Array[] = [];
  const server = createServer((request, response) => {
    const { socket } = response;
    const said = pieces;
    const answer = async () => {
      for (const piece of said) {
        socket?.write(piece);
        await setImmediate();
      }
      socket?.end();
    };
    request.resume().once('end', () => void answer());
  });
  server.on('connection', (socket) => socket.setNoDelay().on('error', () => undefined));
  const { url, close } = await listen(server);
  return {
    url,
    say: (next) => {
      pieces = next;
    },
    close,
  };
};
