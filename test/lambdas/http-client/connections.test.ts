import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createConnectionPools,
  createHttpConnections,
} from '../../../lambdas/http-client/connections.ts';
import { rejection } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { ask, bodyOf, OK, type RawServer, startRawServer } from './raw-server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\n';
const clock = createManualClock(0);

const connectTo = ({ origin }: RawServer, time = clock) => {
  const connections = createHttpConnections(origin, { clock: time, connectMs: 3_000 });
  onTestFinished(connections.destroy);
  return connections;
};

/** A server that answers each packet, and connections to it. */
const open = async (answer: string) => {
  const server = await startRawServer((socket) => socket.write(answer));
  return { server, connections: connectTo(server) };
};

describe('connections that are kept', () => {
  test('requests in a row share one connection', async () => {
    const { server, connections } = await open(OK);
    expect(await bodyOf(connections)).toBe('ok');
    const second = ask(connections);
    expect(second.exchange.isReused).toBe(true);
    await second.response;
    expect(second.calls).toEqual(['head', 'data', 'end']);
    expect(server.sockets).toHaveLength(1);
  });

  test('of two idle connections the one that was used last is used next', async () => {
    const ports: (number | undefined)[] = [];
    const server = await startRawServer((socket) => {
      ports.push(socket.remotePort);
      // Both requests are in flight at once.
      if (ports.length >= 2) for (const each of server.sockets.slice(0, 2)) each.write(OK);
    });
    const connections = connectTo(server);
    const both = [ask(connections), ask(connections)];
    const ended: number[] = [];
    for (const [index, { response }] of both.entries()) response.then(() => ended.push(index));
    await Promise.all(both.map(({ response }) => response));
    const last = server.sockets[ended[1] ?? 0]?.remotePort;
    ask(connections);
    await expect.poll(() => ports).toHaveLength(3);
    expect(ports[2]).toBe(last);
  });

  test.each([
    ['connection: close', `${HEAD}connection: close\r\ncontent-length: 2\r\n\r\nok`],
    ['connection: te, Close', `${HEAD}connection: te, Close\r\ncontent-length: 2\r\n\r\nok`],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok'],
    ['bytes behind the response', `${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
    ['two responses in one packet', OK + OK],
    ['204 and an encoding', 'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['a body behind 204', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok'],
  ])('after a response with %s the next request has a new connection', async (_, answer) => {
    const { server, connections } = await open(answer);
    const first = await bodyOf(connections);
    const second = ask(connections);
    expect(second.exchange.isReused).toBe(false);
    expect((await second.response).body).toBe(first);
    expect(server.sockets).toHaveLength(2);
    await expect.poll(server.open).toBe(0);
  });

  test('bytes on an idle connection close it, and reach no request', async () => {
    const { server, connections } = await open(OK);
    await bodyOf(connections);
    const [idle] = server.sockets;
    idle?.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil');
    await expect.poll(server.open).toBe(0);
    expect(await bodyOf(connections)).toBe('ok');
    expect(server.sockets).toHaveLength(2);
  });

  test('an idle connection that the server closed is not used', async () => {
    const { server, connections } = await open(OK);
    await bodyOf(connections);
    server.sockets[0]?.end();
    await expect.poll(server.open).toBe(0);
    const next = ask(connections);
    expect(next.exchange.isReused).toBe(false);
    expect((await next.response).body).toBe('ok');
  });

  test.each([
    ['timeout=5', 3_999, true],
    ['timeout=5', 4_000, false],
    ['max=9, Timeout=5', 4_000, false],
    ['timeout=1', 0, false],
    ['timeout=0', 0, false],
    ['timeout=600', 59_999, true],
    ['timeout=600', 60_000, false],
    ['max=9', 59_999, true],
    ['max=9', 60_000, false],
    ['xtimeout=5', 59_999, true],
  ])(
    'after `keep-alive: %s` and %i ms idle, that a connection is reused is %s',
    async (hint, ms, isReused) => {
      const server = await startRawServer((socket) =>
        socket.write(`${HEAD}keep-alive: ${hint}\r\ncontent-length: 2\r\n\r\nok`),
      );
      const time = createManualClock(0);
      const connections = connectTo(server, time);
      await bodyOf(connections);
      time.advance(ms);
      const next = ask(connections);
      expect(next.exchange.isReused).toBe(isReused);
      await next.response;
      await expect.poll(server.open).toBe(1);
    },
  );

  test('a request on a new connection leaves the idle ones alone', async () => {
    const { server, connections } = await open(OK);
    await bodyOf(connections);
    const fresh = ask(connections, { isFresh: true });
    expect(fresh.exchange.isReused).toBe(false);
    await fresh.response;
    expect(server.open()).toBe(2);
  });

  /** Requests at once, each on its connection, all answered. */
  const burst = async (size: number) => {
    const server = await startRawServer(() => undefined);
    const time = createManualClock(0);
    const connections = connectTo(server, time);
    const run = async () => {
      const opened = server.sockets.length;
      const asked = Array.from({ length: size }, () => ask(connections));
      await expect.poll(() => server.sockets.length).toBe(opened + size);
      for (const socket of server.sockets.slice(opened)) socket.write(OK);
      await Promise.all(asked.map(({ response }) => response));
    };
    await run();
    return { server, time, connections, run };
  };

  test('32 of 40 connections stay open when all are idle', async () => {
    const { server, connections } = await burst(40);
    await expect.poll(server.open).toBe(32);
    connections.destroy();
    await expect.poll(server.open).toBe(0);
  });

  test('idle connections that their server closed leave their places to others', async () => {
    const { server, run } = await burst(32);
    for (const socket of server.sockets) socket.end();
    await expect.poll(server.open).toBe(0);
    await run();
    expect(server.open()).toBe(32);
  });

  test('connections that are idle for 60 s are closed by the next request, the younger ones stay', async () => {
    const { server, time, connections } = await burst(4);
    time.advance(59_999);
    const answered = ask(connections).response;
    server.sockets[3]?.write(OK);
    await answered;
    expect(server.open()).toBe(4);
    time.advance(1);
    ask(connections);
    await expect.poll(server.open).toBe(1);
    expect(server.sockets).toHaveLength(4);
  });

  test('a request to one origin closes what is idle for 60 s at another', async () => {
    const servers = [await open(OK), await open(OK)].map(({ server }) => server);
    const time = createManualClock(0);
    const connectionsTo = createConnectionPools({ clock: time, connectMs: 3_000 });
    const asked = async (server: RawServer | undefined) => {
      if (server) await bodyOf(connectionsTo(server.origin));
    };
    onTestFinished(() => {
      for (const { origin } of servers) connectionsTo(origin).destroy();
    });
    await asked(servers[0]);
    time.advance(40_000);
    await asked(servers[1]);
    expect(servers.map(({ open: count }) => count())).toEqual([1, 1]);
    time.advance(20_000);
    await asked(servers[1]);
    await expect.poll(() => servers.map(({ open: count }) => count())).toEqual([0, 1]);
  });

  test('a process with an idle connection exits', async () => {
    const { server } = await open(OK);
    const module = new URL('../../../lambdas/http-client/connections.ts', import.meta.url);
    const script = `
      const { createHttpConnections } = await import(${JSON.stringify(module.href)});
      const clock = { now: Date.now, after: () => () => {} };
      const connections = createHttpConnections(new URL(${JSON.stringify(server.origin.href)}), { clock, connectMs: 3_000 });
      const request = { method: 'GET', path: '/', headers: {}, body: '' };
      const print = () => console.log('ended');
      const none = () => {};
      connections.send(request, { onConnect: none, onHead: none, onData: none, onEnd: print, onError: none });`;
    const args = ['--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout.trim()).toBe('ended');
  });
});

describe('requests', () => {
  test.each([
    ['CR LF', 'a\r\nx: y'],
    ['LF', 'a\nb'],
    ['NUL', 'a\0'],
    ['a letter outside Latin-1', 'ł'],
  ])('a header with %s is not sent, and no connection is opened', async (_, value) => {
    const { server, connections } = await open(OK);
    expect(() => ask(connections, { headers: { host: 'test', 'x-key': value } })).toThrow(
      'A header cannot be sent.',
    );
    await bodyOf(connections);
    expect(() => ask(connections, { headers: { 'x-key': value } })).toThrow();
    // The idle connection is still there.
    expect(ask(connections).exchange.isReused).toBe(true);
    expect(server.sockets).toHaveLength(1);
  });

  test('the bytes of a request are those of RFC 9112', async () => {
    const texts: string[] = [];
    const server = await startRawServer((socket, text) => {
      texts.push(text);
      socket.write(OK);
    });
    const connections = connectTo(server);
    const body = Buffer.from([0, 255]);
    const headers = { host: 'a', 'x-y': 'é', 'content-length': '2' };
    await bodyOf(connections, { method: 'PUT', path: '/p?q=1', headers, body });
    expect(texts.join('')).toBe(
      'PUT /p?q=1 HTTP/1.1\r\nhost: a\r\nx-y: é\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\n\0ÿ',
    );
  });

  test('an address of IPv6 is connected to', async () => {
    const server = await startRawServer((socket) => socket.write(OK), { host: '::1' });
    expect(await bodyOf(connectTo(server))).toBe('ok');
  });

  test('a response before the body was sent is read, and its connection closed', async () => {
    const server = await startRawServer((socket) => {
      socket.pause();
      socket.write(OK);
    });
    const connections = connectTo(server);
    const body = Buffer.alloc(50_000_000);
    const first = ask(connections, { headers: { 'content-length': `${body.length}` }, body });
    expect((await first.response).body).toBe('ok');
    expect(ask(connections).exchange.isReused).toBe(false);
  });
});

describe('connections that break', () => {
  test('after a reset without a byte of a response all idle connections are closed', async () => {
    let isGone = false;
    const server = await startRawServer((socket) => {
      if (isGone) socket.resetAndDestroy();
      else if (server.sockets.length === 3) for (const each of server.sockets) each.write(OK);
    });
    const connections = connectTo(server);
    await Promise.all([1, 2, 3].map(() => ask(connections).response));
    isGone = true;
    expect(await rejection(ask(connections).response)).toMatchObject({ code: 'ECONNRESET' });
    await expect.poll(server.open).toBe(0);
    isGone = false;
    expect(ask(connections).exchange.isReused).toBe(false);
  });

  test.each([
    ['a timeout', 'expire', 0],
    ['an abort', 'destroy', 2],
  ] as const)(
    'after %s without a byte on a reused connection %s leaves %i idle ones',
    async (_, end, left) => {
      let isSilent = false;
      const server = await startRawServer(() => {
        if (!isSilent && server.sockets.length === 3)
          for (const each of server.sockets) each.write(OK);
      });
      const connections = connectTo(server);
      await Promise.all([1, 2, 3].map(() => ask(connections).response));
      isSilent = true;
      const { exchange } = ask(connections);
      expect(exchange.isReused).toBe(true);
      exchange[end]();
      await expect.poll(server.open).toBe(left);
      expect(ask(connections).exchange.isReused).toBe(left > 0);
    },
  );

  test('what stands before malformed bytes in the same packet is read', async () => {
    const { connections } = await open(`${HEAD}transfer-encoding: chunked\r\n\r\n4\r\nDONE\r\nzz`);
    const { response, calls } = ask(connections);
    expect(await rejection(response)).toMatchObject({ code: 'NOT_HTTP' });
    expect(calls).toEqual(['connect', 'head', 'data', 'error']);
  });

  const PARTS: [where: string, part: string, code: string][] = [
    ['before the response', '', 'ECONNRESET'],
    ['in a head', 'HTTP/1.1 200 OK\r\ncon', 'ECONNRESET'],
    ['behind an interim response', 'HTTP/1.1 100 Continue\r\n\r\n', 'ECONNRESET'],
    ['in a body', `${HEAD}content-length: 5\r\n\r\nhel`, 'ECONNRESET'],
    ['in a chunk', `${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nhel`, 'ECONNRESET'],
    ['before the last chunk', `${HEAD}transfer-encoding: chunked\r\n\r\n1\r\na\r\n`, 'ECONNRESET'],
    ['in the trailers', `${HEAD}transfer-encoding: chunked\r\n\r\n0\r\nx: y\r\n`, 'ECONNRESET'],
  ];

  test.each(PARTS)('a connection that ends %s is an error', async (_, part, code) => {
    const server = await startRawServer((socket) => socket.end(part));
    const { response, calls } = ask(connectTo(server));
    expect(await rejection(response)).toMatchObject({ code });
    await setImmediate();
    expect(calls.filter((call) => ['end', 'error'].includes(call))).toEqual(['error']);
  });

  test.each(PARTS)('a server that ends %s and reads no more is an error', async (_, part, code) => {
    const server = await startRawServer((socket) => {
      socket.pause();
      socket.end(part);
    });
    const body = Buffer.alloc(50_000_000);
    const { response } = ask(connectTo(server), { body });
    expect(await rejection(response)).toMatchObject({ code });
  });

  test('bytes that are not HTTP are an error that closes the connection', async () => {
    const { server, connections } = await open('SSH-2.0-x\r\n\r\n');
    const { response } = ask(connections);
    expect(await rejection(response)).toMatchObject({ code: 'NOT_HTTP' });
    await expect.poll(server.open).toBe(0);
  });

  test('a reset in a body is an error', async () => {
    const server = await startRawServer((socket) => {
      socket.write(`${HEAD}content-length: 5\r\n\r\nhel`);
    });
    const { response, calls } = ask(connectTo(server));
    await expect.poll(() => calls).toContain('data');
    server.sockets[0]?.resetAndDestroy();
    expect(await rejection(response)).toMatchObject({ code: 'ECONNRESET' });
  });

  test('a response after its exchange was destroyed calls no handler', async () => {
    const server = await startRawServer(() => undefined);
    const connections = connectTo(server);
    const late = ask(connections);
    await expect.poll(() => server.sockets).toHaveLength(1);
    late.exchange.destroy();
    server.sockets[0]?.write(OK);
    await expect.poll(server.open).toBe(0);
    expect(late.calls).toEqual(['connect']);
    expect(ask(connections).exchange.isReused).toBe(false);
  });

  test.each([
    ['a length', OK],
    ['chunks', `${HEAD}transfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n`],
    ['no end', `${HEAD}\r\nbody`],
    ['an invalid body', `${HEAD}transfer-encoding: chunked\r\n\r\nx`],
  ])('no call follows when the head of a body with %s makes its reader stop', async (_, answer) => {
    const { server, connections } = await open(answer);
    const { calls } = ask(connections, { onHead: (exchange) => exchange.destroy() });
    await expect.poll(() => calls).toContain('head');
    await expect.poll(server.open).toBe(0);
    expect(calls).toEqual(['connect', 'head']);
  });

  test('an exchange that is over does not touch the next one on its connection', async () => {
    const { connections } = await open(OK);
    const first = ask(connections);
    await first.response;
    const second = ask(connections);
    first.exchange.pause();
    first.exchange.destroy();
    expect((await second.response).body).toBe('ok');
    expect(second.exchange.isReused).toBe(true);
  });
});
