import { getEventListeners, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../../lambdas/protocols/upstream-error.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import type { UpstreamSecrets } from '../../../lambdas/upstreams/secrets.ts';
import type { EventBatches } from '../../../lambdas/upstreams/upstream.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { startMisbehaving } from '../../support/misbehaving-server.ts';
import { rejection } from '../../support/rejection.ts';
import { requestOf } from '../../support/translate.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const HELLO = chunk({ role: 'assistant', content: 'Hellö 😀' });
/** Ends after the first of the emoji's four bytes. */
const HELLO_CUT = Buffer.from(HELLO).subarray(0, Buffer.from(HELLO).indexOf(0x9f));
const WHOLE = `${HELLO}${chunk({}, 'stop')}data: [DONE]\n\n`;

const sse = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

const setUp = (url: string, extra: Partial<Target> = {}, secrets?: UpstreamSecrets) => {
  const clock = createCountingClock(NOW);
  const caller = new AbortController();
  const refreshed: string[] = [];
  const upstream = createHttpUpstream({
    clock,
    secrets: secrets ?? {
      ...fixedSecrets(''),
      get: async (name) => ({ value: `secret-of-${name}`, version: 'v1' }),
      refused: async (name, version) => void refreshed.push(`${name} ${version}`),
    },
  });
  const target: Target = {
    upstream: 'aurora',
    protocol: 'chat',
    baseUrl: `${url}/v1/`,
    model: 'scribe-1',
    secret: 'aurora',
    ...extra,
  };
  const open = (content = 'hi') =>
    upstream.open({
      request: requestOf('chat', { stream: false, messages: [{ role: 'user', content }] }),
      target,
      protocol: upstreamProtocols[target.protocol],
      maxOutputTokens: 1000,
      limits: { characters: 1_000_000, messages: 10_000, overhead: 1_000_000 },
      signal: caller.signal,
    });
  const expectNothingLeft = () =>
    expect
      .poll(() => [clock.waits(), getEventListeners(caller.signal, 'abort').length])
      .toEqual([[], 0]);
  return { clock, caller, refreshed, open, expectNothingLeft };
};

/** A server of bytes; its address as if it spoke HTTP. */
const startRaw = async (onSocket: (socket: Socket) => void): Promise<string> => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    onSocket(socket);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

const readAll = async (batches: EventBatches): Promise<GenerationEvent[]> => {
  const events: GenerationEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  return events;
};

const textOf = (events: GenerationEvent[]) =>
  events.map((event) => (event.type === 'block-delta' ? event.delta : '')).join('');

const upstreamErrorOf = async (work: Promise<unknown>): Promise<UpstreamError> => {
  const error = await rejection(work);
  if (error instanceof UpstreamError) return error;
  throw new Error('expected an UpstreamError', { cause: error });
};

const openAndRead = (open: () => Promise<EventBatches>) => open().then(readAll);

describe('an answer', () => {
  test('a call requests a stream with the credential and yields events', async () => {
    const server = await startMisbehaving((response) => sse(response).end(WHOLE));
    const { open, expectNothingLeft } = setUp(server.url, { headers: { 'x-extra': '1' } });
    const events = await openAndRead(open);
    expect(textOf(events)).toBe('Hellö 😀');
    expect(events.at(-1)?.type).toBe('finish');
    expect(server.seen).toMatchObject([
      {
        method: 'POST',
        url: '/v1/chat/completions',
        headers: {
          authorization: 'Bearer secret-of-aurora',
          'accept-encoding': 'identity',
          'x-extra': '1',
        },
        body: { model: 'scribe-1', stream: true },
      },
    ]);
    await expectNothingLeft();
  });

  test('a response that arrives byte by byte yields the same events', async () => {
    const server = await startMisbehaving(async (response) => {
      sse(response);
      for (const byte of Buffer.from(WHOLE)) {
        await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
      }
      response.end();
    });
    expect(textOf(await openAndRead(setUp(server.url).open))).toBe('Hellö 😀');
  });

  test('a JSON response to a request for a stream yields events', async () => {
    const message = { role: 'assistant', content: 'Hello' };
    const server = await startMisbehaving((response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    });
    const events = await openAndRead(setUp(server.url).open);
    expect(textOf(events)).toBe('Hello');
    expect(events.at(-1)?.type).toBe('finish');
  });

  test('a complete response leaves its connection to the next call', async () => {
    const server = await startMisbehaving((response) => sse(response).end(WHOLE));
    const { open, expectNothingLeft } = setUp(server.url);
    for (let turn = 0; turn < 3; turn += 1) {
      await openAndRead(open);
      await expectNothingLeft();
    }
    expect(server.seen).toHaveLength(3);
    expect(server.sockets.size).toBe(1);
  });

  test('a response ends with its last event even if the upstream never closes', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(WHOLE));
    const { open, clock, expectNothingLeft } = setUp(server.url);
    expect((await openAndRead(open)).at(-1)?.type).toBe('finish');
    expect(server.sockets.size).toBe(1);
    clock.advance(1_000);
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each(['before', 'after'])(
    'a response that is abandoned %s its first batch closes its connection',
    async (when) => {
      const server = await startMisbehaving((response) => void sse(response).write(HELLO));
      const { open, expectNothingLeft } = setUp(server.url);
      const batches = await open();
      if (when === 'after') await batches.next();
      await batches.return();
      await expect.poll(() => server.sockets.size).toBe(0);
      await expectNothingLeft();
    },
  );
});

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
    { status: 304, kind: 'redirect' },
    { status: 529, kind: 'status' },
    { status: 404, kind: 'status' },
    { status: 204, kind: 'malformed' },
  ])(
    'a $status is a failure of kind $kind, and no other address is asked',
    async ({ status, kind }) => {
      const server = await startMisbehaving((response) =>
        response
          .writeHead(status, { location: `http://${response.req.headers.host}/elsewhere` })
          .end(),
      );
      const fault = await upstreamErrorOf(setUp(server.url).open());
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
    ['1.5', undefined],
    [new Date(NOW + 30_000).toUTCString(), 30],
    [new Date(NOW - 30_000).toUTCString(), 0],
  ])('a 429 with retry-after %s asks to wait %s seconds', async (retryAfter, seconds) => {
    const server = await startMisbehaving((response) =>
      response.writeHead(429, { 'retry-after': retryAfter }).end('too many tokens per minute'),
    );
    expect(await upstreamErrorOf(setUp(server.url).open())).toMatchObject({
      kind: 'status',
      status: 429,
      retryAfterSeconds: seconds,
    });
  });

  test.each([401, 403])('a %d makes the credentials be read again', async (status) => {
    const server = await startMisbehaving((response) => response.writeHead(status).end());
    const { open, refreshed } = setUp(server.url);
    expect(await upstreamErrorOf(open())).toMatchObject({ kind: 'status', status });
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

  test('a server that does not speak HTTP is a failure of kind malformed', async () => {
    const url = await startRaw((socket) => void socket.end('SSH-2.0-OpenSSH_9\r\n'));
    expect((await upstreamErrorOf(setUp(url).open())).kind).toBe('malformed');
  });
});

describe('silence', () => {
  test.each([
    ['a short prompt', 'hi', {}, 30_000],
    ['each 32 KB of prompt', 'x'.repeat(70_000), {}, 32_000],
    ['the longest prompts', 'x'.repeat(5_000_000), {}, 120_000],
    ['a model known to think long', 'hi', { firstEventTimeoutMs: 200_000 }, 200_000],
  ])('the first content of %s has its own limit', async (_, prompt, extra, limitMs) => {
    const asked = Promise.withResolvers<void>();
    const server = await startMisbehaving(() => asked.resolve());
    const { open, clock, expectNothingLeft } = setUp(server.url, extra);
    const fault = upstreamErrorOf(open(prompt));
    await asked.promise;
    clock.advance(limitMs - 1);
    expect(clock.waits()).toContain(limitMs);
    clock.advance(1);
    expect((await fault).kind).toBe('first-event-timeout');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test('heartbeats do not count as first content', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(': ping\n\n'));
    const { open, clock } = setUp(server.url);
    const batches = await open();
    expect(await batches.next()).toEqual({ done: false, value: [] });
    const fault = upstreamErrorOf(batches.next());
    clock.advance(30_000);
    expect((await fault).kind).toBe('first-event-timeout');
  });

  test('a minute of silence between two chunks is a timeout', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(HELLO));
    const { open, clock, expectNothingLeft } = setUp(server.url);
    const batches = await open();
    await batches.next();
    const fault = upstreamErrorOf(batches.next());
    clock.advance(59_999);
    expect(clock.waits()).toEqual([60_000]);
    clock.advance(1);
    expect((await fault).kind).toBe('idle-timeout');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test("the silence of a slow reader does not count as the upstream's", async () => {
    const read = Promise.withResolvers<void>();
    const server = await startMisbehaving(async (response) => {
      sse(response).write(HELLO);
      await read.promise;
      response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
    });
    const { open, clock } = setUp(server.url);
    const batches = await open();
    await batches.next();
    clock.advance(600_000);
    read.resolve();
    expect((await readAll(batches)).at(-1)?.type).toBe('finish');
  });
});

describe('a caller who leaves', () => {
  test('an abort before the call sends no request', async () => {
    const server = await startMisbehaving(() => undefined);
    const { open, caller } = setUp(server.url);
    caller.abort();
    expect((await upstreamErrorOf(open())).kind).toBe('aborted');
    expect(server.seen).toEqual([]);
  });

  test('an abort before the headers ends the call', async () => {
    const asked = Promise.withResolvers<void>();
    const server = await startMisbehaving(() => asked.resolve());
    const { open, caller, expectNothingLeft } = setUp(server.url);
    const fault = upstreamErrorOf(open());
    await asked.promise;
    caller.abort();
    expect((await fault).kind).toBe('aborted');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test('an abort in mid-stream ends the call', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(HELLO));
    const { open, caller, expectNothingLeft } = setUp(server.url);
    const batches = await open();
    await batches.next();
    const fault = upstreamErrorOf(batches.next());
    caller.abort();
    expect((await fault).kind).toBe('aborted');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });
});

describe('a dead kept-alive connection', () => {
  test('a kept-alive connection that has died is retried once on a fresh one', async () => {
    const server = await startMisbehaving((response, _request, count) => {
      if (count === 2) response.socket?.resetAndDestroy();
      else sse(response).end(WHOLE);
    });
    const { open, expectNothingLeft } = setUp(server.url);
    await openAndRead(open);
    await expectNothingLeft();
    expect(textOf(await openAndRead(open))).toBe('Hellö 😀');
    expect(server.seen).toHaveLength(3);
    await expectNothingLeft();
  });

  test('a dead kept-alive connection causes at most one retry', async () => {
    const server = await startMisbehaving((response, _request, count) => {
      if (count > 1) response.socket?.resetAndDestroy();
      else sse(response).end(WHOLE);
    });
    const { open, expectNothingLeft } = setUp(server.url);
    await openAndRead(open);
    await expectNothingLeft();
    expect((await upstreamErrorOf(open())).kind).toBe('reset');
    expect(server.seen).toHaveLength(3);
  });
});
