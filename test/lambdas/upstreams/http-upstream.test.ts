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
import { startMisbehaving } from '../../support/misbehaving-server.ts';
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
      get: async (name) => `secret-of-${name}`,
      refresh: () => refreshed.push('refresh'),
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

const faultOf = async (work: Promise<unknown>): Promise<UpstreamError> => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof UpstreamError) return error;
  throw new Error('expected an upstream fault', { cause: error });
};

const openAndRead = (open: () => Promise<EventBatches>) => open().then(readAll);

describe('an answer', () => {
  test('is asked for as a stream, with the credential, and comes as events', async () => {
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

  test('may come byte by byte', async () => {
    const server = await startMisbehaving(async (response) => {
      sse(response);
      for (const byte of Buffer.from(WHOLE)) {
        await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
      }
      response.end();
    });
    expect(textOf(await openAndRead(setUp(server.url).open))).toBe('Hellö 😀');
  });

  test('may come in one piece of JSON although a stream was asked for', async () => {
    const message = { role: 'assistant', content: 'Hello' };
    const server = await startMisbehaving((response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    });
    const events = await openAndRead(setUp(server.url).open);
    expect(textOf(events)).toBe('Hello');
    expect(events.at(-1)?.type).toBe('finish');
  });

  test('leaves its connection for the next one', async () => {
    const server = await startMisbehaving((response) => sse(response).end(WHOLE));
    const { open, expectNothingLeft } = setUp(server.url);
    for (let turn = 0; turn < 3; turn += 1) {
      await openAndRead(open);
      await expectNothingLeft();
    }
    expect(server.seen).toHaveLength(3);
    expect(server.sockets.size).toBe(1);
  });

  test('ends with its last event even if the upstream never closes', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(WHOLE));
    const { open, clock, expectNothingLeft } = setUp(server.url);
    expect((await openAndRead(open)).at(-1)?.type).toBe('finish');
    expect(server.sockets.size).toBe(1);
    clock.advance(1_000);
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each(['before', 'after'])(
    'lets go when nobody wants it %s its first batch',
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
  test('a refused connection is the fault connect', async () => {
    const server = await startMisbehaving(() => undefined);
    await server.close();
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await faultOf(open())).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('an address that does not answer within three seconds is the fault connect', async () => {
    const server = await startMisbehaving(() => undefined);
    const { open, clock, expectNothingLeft } = setUp(server.url);
    const fault = faultOf(open());
    // Only microtasks run in between, so the loopback has had no chance to connect.
    while (!clock.waits().includes(3_000)) await Promise.resolve();
    clock.advance(3_000);
    expect((await fault).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('a server that does not speak TLS where it should is the fault connect', async () => {
    const server = await startMisbehaving(() => undefined);
    const { open, expectNothingLeft } = setUp(server.url.replace('http:', 'https:'));
    expect((await faultOf(open())).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('a TLS handshake that takes longer than three seconds is the fault connect', async () => {
    const accepted = Promise.withResolvers<void>();
    const url = await startRaw((socket) => void socket.once('data', () => accepted.resolve()));
    const { open, clock, expectNothingLeft } = setUp(url.replace('http:', 'https:'));
    const fault = faultOf(open());
    await accepted.promise;
    clock.advance(3_000);
    expect((await fault).kind).toBe('connect');
    await expectNothingLeft();
  });

  test('a credential that cannot be had is the fault credential', async () => {
    const secrets = { get: () => Promise.reject(new Error('no')), refresh: () => undefined };
    const { open } = setUp('http://127.0.0.1:1', {}, secrets);
    expect((await faultOf(open())).kind).toBe('credential');
  });

  test('a credential that no header can carry is the fault credential', async () => {
    const secrets = { get: async () => 'geheim…\n', refresh: () => undefined };
    const { open } = setUp('http://127.0.0.1:1', {}, secrets);
    expect((await faultOf(open())).kind).toBe('credential');
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
  ])('a connection that breaks $when is the fault reset', async ({ act }) => {
    const server = await startMisbehaving(act);
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await faultOf(openAndRead(open))).kind).toBe('reset');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each([
    { status: 307, kind: 'redirect' },
    { status: 304, kind: 'redirect' },
    { status: 529, kind: 'status' },
    { status: 404, kind: 'status' },
    { status: 204, kind: 'malformed' },
  ])('a $status is the fault $kind, and no other address is asked', async ({ status, kind }) => {
    const server = await startMisbehaving((response) =>
      response
        .writeHead(status, { location: `http://${response.req.headers.host}/elsewhere` })
        .end(),
    );
    const fault = await faultOf(setUp(server.url).open());
    expect(fault.kind).toBe(kind);
    if (status >= 300) expect(fault.status).toBe(status);
    expect(server.seen).toHaveLength(1);
  });

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
    expect(await faultOf(setUp(server.url).open())).toMatchObject({
      kind: 'status',
      status: 429,
      retryAfterSeconds: seconds,
    });
  });

  test.each([401, 403])('a %d has the credentials read again', async (status) => {
    const server = await startMisbehaving((response) => response.writeHead(status).end());
    const { open, refreshed } = setUp(server.url);
    expect(await faultOf(open())).toMatchObject({ kind: 'status', status });
    expect(refreshed).toEqual(['refresh']);
  });

  test('a prompt that is too long has a kind of its own', async () => {
    const error = { code: 'context_length_exceeded', message: 'maximum context length is 10' };
    const server = await startMisbehaving((response) =>
      response.writeHead(400).end(JSON.stringify({ error })),
    );
    expect(await faultOf(setUp(server.url).open())).toMatchObject({
      kind: 'context-overflow',
      status: 400,
    });
  });

  test('a refusal without end is read no further than it matters', async () => {
    const server = await startMisbehaving((response) => {
      const more = () => response.write('x'.repeat(16_384));
      response.writeHead(500).on('drain', more);
      while (more());
    });
    const { open, expectNothingLeft } = setUp(server.url);
    expect(await faultOf(open())).toMatchObject({ kind: 'status', status: 500 });
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test.each([
    ['a web page', 'text/html', '<html>'],
    ['no type and no content', undefined, ''],
    ['broken JSON', 'application/json', '{"choices":['],
    ['JSON of another shape', 'application/json', '[]'],
    ['broken JSON in an event', 'text/event-stream', 'data: {"choices"\n\n'],
  ])('a 200 with %s is the fault malformed', async (_, type, body) => {
    const server = await startMisbehaving((response) =>
      response.writeHead(200, type ? { 'content-type': type } : {}).end(body),
    );
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await faultOf(openAndRead(open))).kind).toBe('malformed');
    await expectNothingLeft();
  });

  test('an answer compressed without being asked is the fault malformed', async () => {
    const server = await startMisbehaving((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync('{}')),
    );
    expect((await faultOf(setUp(server.url).open())).kind).toBe('malformed');
  });

  test.each([
    { where: 'without a finish', body: HELLO, kind: 'truncated' },
    { where: 'inside an event', body: `${HELLO}data: {"cho`, kind: 'malformed' },
    { where: 'inside a character', body: HELLO_CUT, kind: 'malformed' },
  ])('a stream that ends $where is the fault $kind', async ({ body, kind }) => {
    const server = await startMisbehaving((response) => sse(response).end(body));
    expect((await faultOf(openAndRead(setUp(server.url).open))).kind).toBe(kind);
  });

  test.each([
    ['an event over 5 MB', 'text/event-stream', 'data: '],
    ['JSON over 16 MB', 'application/json', '{"a":"'],
  ])('%s is the fault malformed', async (_, type, opening) => {
    const server = await startMisbehaving((response) => {
      const more = () => response.write('x'.repeat(65_536));
      response.writeHead(200, { 'content-type': type }).on('drain', more);
      response.write(opening);
      while (more());
    });
    const { open, expectNothingLeft } = setUp(server.url);
    expect((await faultOf(openAndRead(open))).kind).toBe('malformed');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test('something that does not speak HTTP is the fault malformed', async () => {
    const url = await startRaw((socket) => void socket.end('SSH-2.0-OpenSSH_9\r\n'));
    expect((await faultOf(setUp(url).open())).kind).toBe('malformed');
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
    const fault = faultOf(open(prompt));
    await asked.promise;
    clock.advance(limitMs - 1);
    expect(clock.waits()).toContain(limitMs);
    clock.advance(1);
    expect((await fault).kind).toBe('first-event-timeout');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test('signs of life are no content', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(': ping\n\n'));
    const { open, clock } = setUp(server.url);
    const batches = await open();
    expect(await batches.next()).toEqual({ done: false, value: [] });
    const fault = faultOf(batches.next());
    clock.advance(30_000);
    expect((await fault).kind).toBe('first-event-timeout');
  });

  test('a minute between two chunks is too long', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(HELLO));
    const { open, clock, expectNothingLeft } = setUp(server.url);
    const batches = await open();
    await batches.next();
    const fault = faultOf(batches.next());
    clock.advance(59_999);
    expect(clock.waits()).toEqual([60_000]);
    clock.advance(1);
    expect((await fault).kind).toBe('idle-timeout');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test('of a slow reader is not the upstream’s', async () => {
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
  test('before the call causes none', async () => {
    const server = await startMisbehaving(() => undefined);
    const { open, caller } = setUp(server.url);
    caller.abort();
    expect((await faultOf(open())).kind).toBe('aborted');
    expect(server.seen).toEqual([]);
  });

  test('before the headers ends the call', async () => {
    const asked = Promise.withResolvers<void>();
    const server = await startMisbehaving(() => asked.resolve());
    const { open, caller, expectNothingLeft } = setUp(server.url);
    const fault = faultOf(open());
    await asked.promise;
    caller.abort();
    expect((await fault).kind).toBe('aborted');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });

  test('in mid-stream ends the call', async () => {
    const server = await startMisbehaving((response) => void sse(response).write(HELLO));
    const { open, caller, expectNothingLeft } = setUp(server.url);
    const batches = await open();
    await batches.next();
    const fault = faultOf(batches.next());
    caller.abort();
    expect((await fault).kind).toBe('aborted');
    await expect.poll(() => server.sockets.size).toBe(0);
    await expectNothingLeft();
  });
});

describe('a kept-alive connection that has died meanwhile', () => {
  test('costs one more try on a fresh one', async () => {
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

  test('costs no more than one', async () => {
    const server = await startMisbehaving((response, _request, count) => {
      if (count > 1) response.socket?.resetAndDestroy();
      else sse(response).end(WHOLE);
    });
    const { open, expectNothingLeft } = setUp(server.url);
    await openAndRead(open);
    await expectNothingLeft();
    expect((await faultOf(open())).kind).toBe('reset');
    expect(server.seen).toHaveLength(3);
  });
});
