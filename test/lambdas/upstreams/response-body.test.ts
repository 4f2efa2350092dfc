import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpConnections } from '../../../lambdas/http-client/connections.ts';
import { post } from '../../../lambdas/upstreams/post.ts';
import { createResponseBody } from '../../../lambdas/upstreams/response-body.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { rejection } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { startRawServer } from '../http-client/raw-server.ts';

const MB = 1_048_576;

/** A body that writes down when it stops its upstream. */
const createBody = () => {
  const flow: string[] = [];
  const clock = createCountingClock(0);
  const body = createResponseBody({
    pause: () => flow.push('pause'),
    resume: () => flow.push('resume'),
    clock,
    expire: (error) => body.fail(error),
  });
  const next = async () => {
    const { value } = await body.next();
    return value && Buffer.from(value).toString();
  };
  return { body, flow, clock, next, push: (text: string) => body.push(Buffer.from(text)) };
};

describe('the body of a response', () => {
  test('a piece that is waited for is read at once, and those behind it as one', async () => {
    const { body, next, push } = createBody();
    const first = next();
    push('a');
    push('b');
    push('c');
    expect(await first).toBe('a');
    expect(await next()).toBe('bc');
    body.end();
    expect(await next()).toBeUndefined();
  });

  test('what arrives before it is asked for is read at once', async () => {
    const { body, next, push } = createBody();
    push('a');
    await setImmediate();
    push('b');
    body.end();
    expect(await next()).toBe('ab');
    expect(await next()).toBeUndefined();
    expect(await next()).toBeUndefined();
  });

  test('what arrived before a break is read before its error', async () => {
    const { body, next, push } = createBody();
    push('a');
    body.break(new Error('reset'));
    expect(await next()).toBe('a');
    await expect(next()).rejects.toThrow('reset');
    await expect(next()).rejects.toThrow('reset');
  });

  test('a failure drops what arrived before it', async () => {
    const { body, next, push } = createBody();
    push('a');
    body.fail(new Error('timeout'));
    await expect(next()).rejects.toThrow('timeout');
  });

  test('a failure fails the read that waits', async () => {
    const { body, next } = createBody();
    const waiting = next();
    body.fail(new Error('timeout'));
    await expect(waiting).rejects.toThrow('timeout');
  });

  test('a break and an end after a failure do not replace it', async () => {
    const { body, next } = createBody();
    body.fail(new Error('timeout'));
    body.break(new Error('reset'));
    body.end();
    await expect(next()).rejects.toThrow('timeout');
  });

  test('a read that waits fails after 60 s without bytes, and one of what is there has no timer', async () => {
    const { clock, next, push } = createBody();
    push('a');
    await next();
    expect(clock.waits()).toEqual([]);
    const answered = next();
    expect(clock.waits()).toEqual([60_000]);
    push('b');
    await answered;
    expect(clock.waits()).toEqual([]);
    const waiting = next();
    clock.advance(60_000);
    await expect(waiting).rejects.toMatchObject({ kind: 'idle-timeout' });
  });

  test('more than 64 KB that wait stop the upstream once, and a read resumes it', async () => {
    const { flow, next, push } = createBody();
    push('x'.repeat(65_536));
    expect(flow).toEqual([]);
    push('x');
    push('x');
    expect(flow).toEqual(['pause']);
    expect(await next()).toHaveLength(65_538);
    expect(flow).toEqual(['pause', 'resume']);
    push('x');
    expect(await next()).toBe('x');
    expect(flow).toEqual(['pause', 'resume']);
  });
});

// --- over a connection ---

/** Writes until `total` bytes are sent, each piece when the one before has left. */
const pour = (socket: Socket, total: number) => {
  const piece = Buffer.alloc(65_536, 'x');
  let left = total;
  const writeNext = () => {
    while (left > 0) {
      left -= piece.length;
      if (!socket.write(piece)) return;
    }
  };
  socket.on('drain', writeNext);
  writeNext();
};

const open = async (total: number, framing: string) => {
  const server = await startRawServer((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
    pour(socket, total);
  });
  const clock = createManualClock(0);
  const connections = createHttpConnections(server.origin, { clock, connectMs: 3_000 });
  onTestFinished(connections.destroy);
  const { signal } = new AbortController();
  const body = Buffer.from('{}');
  const sent = post({ url: server.origin, headers: {}, body, connections, clock, signal });
  onTestFinished(sent.close);
  const { chunks } = await sent.response;
  const written = () => server.sockets[0]?.bytesWritten ?? 0;
  /** Bytes that have left the server once no more of them do. */
  const settled = async () => {
    for (let still = 0, last = -1; still < 200; await setImmediate()) {
      const now = written() - (server.sockets[0]?.writableLength ?? 0);
      still = now === last ? still + 1 : 0;
      last = now;
    }
    return written() - (server.sockets[0]?.writableLength ?? 0);
  };
  return { chunks, settled, server };
};

describe('an upstream that sends 50 MB', () => {
  test.each([
    ['a length', `content-length: ${50 * MB}`],
    ['no length', 'connection: close'],
  ])(
    'a body with %s stops while its caller does not read, and is read whole',
    async (_, framing) => {
      const { chunks, settled, server } = await open(50 * MB, framing);
      // What the kernel holds for both sides is a few MB.
      expect(await settled()).toBeLessThan(16 * MB);
      let read = 0;
      let longest = 0;
      while (read < 50 * MB) {
        const { value } = await chunks.next();
        if (!value) break;
        read += value.length;
        longest = Math.max(longest, value.length);
      }
      expect(read).toBe(50 * MB);
      // The waiting bytes, and the packet that was too many.
      expect(longest).toBeLessThanOrEqual(2 * 65_536);
      if (framing.includes('close')) server.sockets[0]?.end();
      expect(await chunks.next()).toEqual({ done: true, value: undefined });
    },
  );

  test('a reset while the caller does not read is an error behind what has arrived', async () => {
    const { chunks, settled, server } = await open(50 * MB, `content-length: ${50 * MB}`);
    await settled();
    server.sockets[0]?.resetAndDestroy();
    const { value } = await chunks.next();
    expect(value?.length).toBeGreaterThan(0);
    const readAll = async () => {
      while (!(await chunks.next()).done);
    };
    expect(await rejection(readAll())).toMatchObject({ code: 'ECONNRESET' });
  });
});
