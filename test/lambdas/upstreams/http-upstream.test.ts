import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startMisbehaving } from '../../support/misbehaving-server.ts';
import {
  chunk,
  HELLO,
  openAndRead,
  readAll,
  setUp,
  sse,
  startRaw,
  textOf,
  upstreamErrorOf,
  WHOLE,
} from './upstream-bench.ts';

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

  test.each([400, 429, 500])(
    'an error %s whose body stalls has the class and the reason of what came within five seconds',
    async (status) => {
      const server = await startMisbehaving((response) => {
        response.writeHead(status, { 'content-length': 1_000, 'retry-after': '7' });
        response.write('{"error":{"message":"no such voice"}}');
      });
      const { open, clock, expectNothingLeft } = setUp(server.url);
      const fault = upstreamErrorOf(open());
      await expect.poll(() => clock.waits()).toContain(5_000);
      clock.advance(5_000);
      expect(await fault).toMatchObject({ status, retryAfterSeconds: 7, reason: 'no such voice' });
      await expect.poll(() => server.sockets.size).toBe(0);
      await expectNothingLeft();
    },
  );

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

  test.each([
    ['in the same write', false],
    ['after the answer was read', true],
  ])('an answer that follows another %s is not taken for the next one', async (_, isLate) => {
    const framed = (text: string) => {
      const length = Buffer.byteLength(text);
      return `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${length}\r\n\r\n${text}`;
    };
    const foreign = framed(WHOLE.replace('Hellö', 'Foreign'));
    const sockets: Socket[] = [];
    const url = await startRaw((socket) => {
      sockets.push(socket);
      socket.on('data', (bytes) => {
        if (!bytes.includes('"messages"')) return;
        socket.write(framed(WHOLE) + (sockets.length === 1 && !isLate ? foreign : ''));
      });
    });
    const { open, expectNothingLeft } = setUp(url);
    expect(textOf(await openAndRead(open))).toBe('Hellö 😀');
    if (isLate) sockets[0]?.write(foreign);
    await expect.poll(() => sockets[0]?.destroyed).toBe(true);
    expect(textOf(await openAndRead(open))).toBe('Hellö 😀');
    expect(sockets).toHaveLength(2);
    await expectNothingLeft();
  });
});
