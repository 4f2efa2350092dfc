import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A client that can do to its connection what HTTP libraries will not. */
export type RawClient = {
  socket: Socket;
  /** What came back so far, head included. */
  received(): string;
  /** Resolves once `part` has come back. */
  has(part: string): Promise<void>;
  /** Resolves when the connection is over, whoever ended it. */
  closed: Promise<unknown>;
};

export const connectTo = async (url: string): Promise<RawClient> => {
  const { hostname, port } = new URL(url);
  // Its own half stays open when the other side has ended: some clients do that.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const received = () => Buffer.concat(chunks).toString();
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
  const closed = new Promise((resolve) => {
    socket.once('end', resolve).once('close', resolve);
  });
  await once(socket, 'connect');
  return {
    socket,
    received,
    closed,
    has: async (part) => {
      while (!received().includes(part)) await once(socket, 'data');
    },
  };
};

/** The bytes of a POST of JSON. */
export const postBytes = (path: string, key: string, body: object): string => {
  const json = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `x-api-key: ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(json)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${json}`;
};
