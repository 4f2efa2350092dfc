import { connect } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpConnections } from '../../../lambdas/http-client/connections.ts';
import { post } from '../../../lambdas/upstreams/post.ts';
import { rejection } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { ask, bodyOf, startRawServer } from './raw-server.ts';
import { startTlsServer } from './tls-server.ts';

const clock = createManualClock(0);

/** Trusts the certificate until the test ends. */
const trust = (cert: string) => {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
};

const connectTo = (host: string, port: number) => {
  const connections = createHttpConnections(new URL(`https://${host}:${port}`), {
    clock,
    connectMs: 3_000,
  });
  onTestFinished(connections.destroy);
  return connections;
};

const errorOfPost = async (host: string, port: number) => {
  const url = new URL(`https://${host}:${port}/`);
  const { signal } = new AbortController();
  const connections = connectTo(host, port);
  const sent = post({ url, headers: {}, body: Buffer.from('secret'), connections, clock, signal });
  const error = await rejection<Error & { kind: string }>(sent.response);
  return { kind: error.kind, cause: error.cause };
};

/** Passes connections on, but drops those whose first packet is longer than the first of all: it offers a session. */
const startSilentRelay = async (port: number) => {
  let usual: number | undefined;
  const server = await startRawServer(() => undefined, {
    onConnection: (socket) =>
      socket.once('data', (hello: Buffer) => {
        usual ??= hello.length;
        if (hello.length > usual) return;
        const other = connect(port, '127.0.0.1').on('error', () => socket.destroy());
        other.write(hello);
        socket.pipe(other).pipe(socket);
      }),
  });
  return server;
};

describe('connections over TLS', () => {
  test('a name is sent in the handshake, and HTTP/1.1 is agreed on', async () => {
    const server = await startTlsServer(['localhost']);
    trust(server.cert);
    const { response, calls } = ask(connectTo('localhost', server.port));
    expect((await response).body).toBe('ok');
    expect(calls).toEqual(['connect', 'head', 'data', 'end']);
    expect(server.secured).toMatchObject([
      { servername: 'localhost', protocol: 'http/1.1', isResumed: false },
    ]);
  });

  test('an address is checked but not sent as a name', async () => {
    const server = await startTlsServer(['127.0.0.1']);
    trust(server.cert);
    expect(await bodyOf(connectTo('127.0.0.1', server.port))).toBe('ok');
    expect(server.secured).toMatchObject([{ servername: false }]);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'the second connection resumes the session of the first in %s',
    async (version) => {
      const server = await startTlsServer(['localhost'], { maxVersion: version });
      trust(server.cert);
      const connections = connectTo('localhost', server.port);
      for (const _ of [1, 2, 3]) expect(await bodyOf(connections)).toBe('ok');
      expect(server.secured).toMatchObject([
        { isResumed: false, version },
        { isResumed: true, version },
        { isResumed: true, version },
      ]);
    },
  );

  test('a session that the server rejects is not offered again', async () => {
    const server = await startTlsServer(['localhost'], { rejectsSessions: true });
    trust(server.cert);
    const connections = connectTo('localhost', server.port);
    expect(await bodyOf(connections)).toBe('ok');
    expect(await rejection(bodyOf(connections))).toMatchObject({ code: 'ECONNRESET' });
    expect(await bodyOf(connections)).toBe('ok');
    expect(server.secured.map(({ isResumed }) => isResumed)).toEqual([false, true, false]);
  });

  test('a session that is met with silence is not offered again', async () => {
    const server = await startTlsServer(['localhost']);
    trust(server.cert);
    const relay = await startSilentRelay(server.port);
    const connections = connectTo('localhost', Number(relay.origin.port));
    expect(await bodyOf(connections)).toBe('ok');
    const { exchange, calls } = ask(connections);
    await expect.poll(() => relay.sockets.length).toBe(2);
    exchange.destroy();
    expect(calls).toEqual([]);
    expect(await bodyOf(connections)).toBe('ok');
  });

  test.each([
    ['another name', 'localhost', ['example.com'], 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['a name and not the address', '127.0.0.1', ['localhost'], 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('a certificate of %s is rejected before the request is sent', async (_, host, names, code) => {
    const server = await startTlsServer(names);
    trust(server.cert);
    const { kind, cause } = await errorOfPost(host, server.port);
    expect(kind).toBe('connect');
    expect(cause).toMatchObject({ code });
    // A second attempt has no session that would skip the check.
    expect((await errorOfPost(host, server.port)).kind).toBe('connect');
    expect(server.received()).toBe(0);
  });

  test('a server that is not trusted gets no byte of the request', async () => {
    const server = await startTlsServer(['localhost']);
    const { kind, cause } = await errorOfPost('localhost', server.port);
    expect(kind).toBe('connect');
    expect(cause).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(server.received()).toBe(0);
  });

  test('a connection that failed its check leaves no session to the next one of its pool', async () => {
    const server = await startTlsServer(['example.com']);
    trust(server.cert);
    const connections = connectTo('localhost', server.port);
    for (const _ of [1, 2]) {
      const error = await rejection(ask(connections).response);
      expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    }
    expect(server.received()).toBe(0);
  });

  test('a server that offers HTTP/2 alone is rejected', async () => {
    const server = await startTlsServer(['localhost'], { protocols: ['h2'] });
    trust(server.cert);
    expect((await errorOfPost('localhost', server.port)).kind).toBe('connect');
    expect(server.received()).toBe(0);
  });
});
