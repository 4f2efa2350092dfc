import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { createCertificate } from '../../support/deployment/self-signed.ts';

const RESPONSE = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok';

export type Secured = {
  servername: string | false | null;
  protocol: string | false | null;
  isResumed: boolean;
  version: string | null;
};

export type TlsServer = {
  port: number;
  cert: string;
  /** What was agreed with each client. */
  secured: Secured[];
  /** Bytes of requests. */
  received(): number;
};

type Options = {
  maxVersion?: 'TLSv1.2' | 'TLSv1.3';
  protocols?: string[];
  /** Whether a client that resumes a session is disconnected. */
  rejectsSessions?: boolean;
};

/** A server for these hosts, which closes each connection behind its response. */
export const startTlsServer = async (
  hosts: string[],
  { maxVersion = 'TLSv1.3', protocols = ['h2', 'http/1.1'], rejectsSessions = false }: Options = {},
): Promise<TlsServer> => {
  const certificate = createCertificate(hosts);
  const secured: Secured[] = [];
  const sockets: TLSSocket[] = [];
  let received = 0;
  const options = { ...certificate, maxVersion, ALPNProtocols: protocols };
  const server = createServer(options, (socket) => {
    sockets.push(socket);
    secured.push({
      // Undocumented for servers, and typed for none.
      servername: Reflect.get(socket, 'servername'),
      protocol: socket.alpnProtocol,
      isResumed: socket.isSessionReused(),
      version: socket.getProtocol(),
    });
    socket.on('error', () => undefined);
    if (rejectsSessions && socket.isSessionReused()) socket.destroy();
    socket.on('data', ({ length }) => {
      received += length;
      socket.end(RESPONSE);
    });
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { port, cert: certificate.cert, secured, received: () => received };
};
