import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { startMisbehaving } from '../../support/misbehaving-server.ts';
import {
  HELLO,
  HELLO_CUT,
  NOW,
  openAndRead,
  setUp,
  sse,
  startRaw,
  upstreamErrorOf,
} from './upstream-bench.ts';

describe('a fault', () => {
  test('a refused connection is a failure of kind connect', async () => {
    const server = await startMisbehaving(() => undefined);
    await server.close();
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await upstreamErrorOf(open())).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('an address that does not answer within three seconds is a failure of kind connect', async () => {
    const server = await startMisbehaving(() => undefined);
    const { open, clock, expectNothingLeft } = setUp(server.url);
    const fault = upstreamErrorOf(open());
    // Only microtasks run in between, so the loopback has had no chance to connect.
    while (!clock.waits().includes(3_000)) await Promise.resolve();
    clock.advance(3_000);
    expect((await fault).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('a server without TLS behind https is a failure of kind connect', async () => {
    const server = await startMisbehaving(() => undefined);
    const { open, expectNothingLeft } = setUp(server.url.replace('http:', 'https:'));
    expect((await upstreamErrorOf(open())).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('a TLS handshake longer than three seconds is a failure of kind connect', async () => {
    const accepted = Promise.withResolvers<void>();
    const url = await startRaw((socket) => void socket.once('data', () => accepted.resolve()));
    const { open, clock, expectNothingLeft } = setUp(url.replace('http:', 'https:'));
    const fault = upstreamErrorOf(open());
    await accepted.promise;
    clock.advance(3_000);
    expect((await fault).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('a credential that cannot be read is a failure of kind credential', async () => {
    const secrets = { ...fixedSecrets(''), get: () => Promise.reject(new Error('no')) };
    const { open } = setUp('http://127.0.0.1:1', {}, secrets);
    expect((await upstreamErrorOf(open())).kind).toBe('credential');
  });

  test('a credential that no header can carry is a failure of kind credential', async () => {
    const secrets = fixedSecrets('geheim…\n');
    const { open } = setUp('http://127.0.0.1:1', {}, secrets);
    expect((await upstreamErrorOf(open())).kind).toBe('credential');
  });

  test.each([
    {
      when: 'before its headers',
      act: (response: ServerResponse) => response.socket?.resetAndDestroy(),
    },
    {
      when: 'after its headers',
      act: (response: ServerResponse) => {
        sse(response).flushHeaders();
        setImmediate(() => response.socket?.resetAndDestroy());
      },
    },
    {
      when: 'in mid-stream',
      act: (response: ServerResponse) => {
        sse(response).write(HELLO, () => response.destroy());
      },
    },
  ])('a connection that breaks $when is a failure of kind reset', async ({ act }) => {
    const server = await startMisbehaving(act);
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await upstreamErrorOf(openAndRead(open))).kind).toBe('reset');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each([
    { status: 307, kind: 'redirect' },
    { status: 304, kind: 'status' },
    { status: 529, kind: 'status' },
    { status: 404, kind: 'unknown-model' },
    { status: 204, kind: 'malformed' },
  ])(
    'a $status is a failure of kind $kind, and no other address is asked',
    async ({ status, kind }) => {
      const server = await startMisbehaving((response) =>
        response
          .writeHead(status, { location: `http://${response.req.headers.host}/elsewhere` })
          .end(),
      );
      const fault = await upstreamErrorOf(openAndRead(setUp(server.url).open));
      expect(fault.kind).toBe(kind);
      if (status >= 300) expect(fault.status).toBe(status);
      expect(server.seen).toHaveLength(1);
    },
  );

  test.each([
    ['7', 7],
    ['0', 0],
    ['1000000000000', undefined],
    ['-1', undefined],
    ['soon', undefined],
    ['1.5', 1.5],
    [new Date(NOW + 30_000).toUTCString(), 30],
    [new Date(NOW - 30_000).toUTCString(), 0],
  ])('a 429 with retry-after %s asks to wait %s seconds', async (retryAfter, seconds) => {
    const server = await startMisbehaving((response) =>
      response
        .writeHead(429, { date: new Date(NOW).toUTCString(), 'retry-after': retryAfter })
        .end('too many tokens per minute'),
    );
    expect(await upstreamErrorOf(setUp(server.url).open())).toMatchObject({
      kind: 'status',
      status: 429,
      retryAfterSeconds: seconds,
    });
  });

  test.each([
    [401, 'credential-refused'],
    [403, 'status'],
  ])('a %d makes the credentials be read again', async (status, kind) => {
    const server = await startMisbehaving((response) => response.writeHead(status).end());
    const { open, refreshed } = setUp(server.url);
    expect(await upstreamErrorOf(open())).toMatchObject({ kind, status });
    expect(refreshed).toEqual(['aurora v1']);
  });

  test('a prompt that is too long is a failure of kind context-overflow', async () => {
    const error = { code: 'context_length_exceeded', message: 'maximum context length is 10' };
    const server = await startMisbehaving((response) =>
      response.writeHead(400).end(JSON.stringify({ error })),
    );
    expect(await upstreamErrorOf(setUp(server.url).open())).toMatchObject({
      kind: 'context-overflow',
      status: 400,
    });
  });

  test('an endless error body is read only up to its limit', async () => {
    const server = await startMisbehaving((response) => {
      const more = () => response.write('x'.repeat(16_384));
      response.writeHead(500).on('drain', more);
      while (more());
    });
    const { open, expectNothingLeft } = setUp(server.url);
    expect(await upstreamErrorOf(open())).toMatchObject({ kind: 'status', status: 500 });
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each([
    ['a web page', 'text/html', '<html>'],
    ['no type and no content', undefined, ''],
    ['broken JSON', 'application/json', '{"choices":['],
    ['four megabytes of brackets', 'application/json', '['.repeat(4_000_000)],
    ['an event of brackets', 'text/event-stream', `data: ${'['.repeat(900_000)}\n\n`],
    ['JSON of another shape', 'application/json', '[]'],
    ['broken JSON in an event', 'text/event-stream', 'data: {"choices"\n\n'],
  ])('a 200 with %s is a failure of kind malformed', async (_, type, body) => {
    const server = await startMisbehaving((response) =>
      response.writeHead(200, type ? { 'content-type': type } : {}).end(body),
    );
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await upstreamErrorOf(openAndRead(open))).kind).toBe('malformed');
    await expectNothingLeft();
  });

  test('an unrequested compression is a failure of kind malformed', async () => {
    const server = await startMisbehaving((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync('{}')),
    );
    expect((await upstreamErrorOf(setUp(server.url).open())).kind).toBe('malformed');
  });

  test.each([
    { where: 'without a finish', body: HELLO, kind: 'truncated' },
    { where: 'inside an event', body: `${HELLO}data: {"cho`, kind: 'malformed' },
    { where: 'inside a character', body: HELLO_CUT, kind: 'malformed' },
  ])('a stream that ends $where is a failure of kind $kind', async ({ body, kind }) => {
    const server = await startMisbehaving((response) => sse(response).end(body));
    expect((await upstreamErrorOf(openAndRead(setUp(server.url).open))).kind).toBe(kind);
  });

  test.each([
    ['an event over 5 MB', 'text/event-stream', 'data: '],
    ['JSON over 16 MB', 'application/json', '{"a":"'],
  ])('%s is a failure of kind malformed', async (_, type, opening) => {
    const server = await startMisbehaving((response) => {
      const more = () => response.write('x'.repeat(65_536));
      response.writeHead(200, { 'content-type': type }).on('drain', more);
      response.write(opening);
      while (more());
    });
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await upstreamErrorOf(openAndRead(open))).kind).toBe('malformed');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each([
    ['a banner', 'SSH-2.0-OpenSSH_9\r\n'],
    ['an alert of TLS', '\x15\x03\x01\x00\x02\x02\x46'],
    ['lines without CR', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok'],
  ])('a server that sends %s and waits is a failure of kind malformed at once', async (_, sent) => {
    const url = await startRaw((socket) => void socket.write(sent, 'latin1'));
    expect((await upstreamErrorOf(setUp(url).open())).kind).toBe('malformed');
  });
});
