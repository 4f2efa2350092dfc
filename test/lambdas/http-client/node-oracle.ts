import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** A response as a reader got it, or that it did not. */
export type Outcome = { status: number; body: string } | 'rejected';

/** Also whether the connection may carry another request. */
export type NodeOutcome = { outcome: Outcome; mayContinue: boolean };

const readWhole = async (response: IncomingMessage): Promise<Outcome> => {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  if (!response.complete) return 'rejected';
  return { status: response.statusCode ?? 0, body: Buffer.concat(parts).toString('latin1') };
};

export type Oracle = {
  /** What Node's client makes of these bytes, after which the connection ends. */
  read(bytes: Uint8Array): Promise<NodeOutcome>;
  close(): Promise<void>;
};

/** Node's own HTTP client, in front of a server that sends the given bytes. */
export const startOracle = async (): Promise<Oracle> => {
  const sent = new Map<string, Uint8Array>();
  let count = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (head) => {
      const [, path = ''] = head.toString('latin1').split(' ');
      socket.end(sent.get(path) ?? '');
      sent.delete(path);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const read: Oracle['read'] = async (bytes) => {
    count += 1;
    const path = `/${count}`;
    sent.set(path, bytes);
    const asked = request({ host: '127.0.0.1', port, path, agent: false });
    asked.setHeader('connection', 'keep-alive');
    try {
      const outcome = await new Promise<Outcome>((resolve, reject) => {
        asked.on('error', reject).on('response', (got) => readWhole(got).then(resolve, reject));
        asked.end();
      });
      return { outcome, mayContinue: asked.shouldKeepAlive };
    } catch {
      return { outcome: 'rejected', mayContinue: false };
    } finally {
      asked.destroy();
    }
  };
  const close = async () => {
    server.close();
    await once(server, 'close');
  };
  return { read, close };
};
