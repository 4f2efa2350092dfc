import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { createResponseStream, withPrelude } from '../../../lambdas/web/lambda-runtime.ts';
import { createCountingClock } from '../../support/counting-clock.ts';

/** A connection that passes `taken` writes on, and whose client reads no more. */
const createStalledSocket = (taken: number) => {
  const written: string[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, callback) => {
      written.push(chunk.toString());
      if (written.length <= taken) callback();
    },
  });
  return { socket, text: () => written.join('') };
};

const startResponse = (taken: number) => {
  const { socket, text } = createStalledSocket(taken);
  const incoming: IncomingMessage = Reflect.construct(IncomingMessage, [socket]);
  const response = new ServerResponse(incoming);
  Reflect.apply(response.assignSocket, response, [socket]);
  const clock = createCountingClock(0);
  const stream = withPrelude(createResponseStream(response, clock), { statusCode: 200 });
  return { stream, response, clock, text };
};

test('a response whose last bytes nobody reads is destroyed after a minute', async () => {
  const { stream, response, clock } = startResponse(0);
  stream.end('last');
  await expect.poll(() => clock.waits()).toHaveLength(1);
  clock.advance(59_999);
  expect(response.destroyed).toBe(false);
  const closed = new Promise((resolve) => {
    stream.once('close', resolve);
  });
  clock.advance(1_000);
  await closed;
  expect(response.destroyed).toBe(true);
  expect(clock.waits()).toEqual([]);
});

test('a response that is read at once sets no timer', async () => {
  const { stream, clock, text } = startResponse(Number.POSITIVE_INFINITY);
  stream.write('one');
  stream.end('two');
  await once(stream, 'finish');
  expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nonetwo$/);
  expect(clock.waits()).toEqual([]);
});

test('a response whose client disconnected before it began ends at once, without a timer', async () => {
  const { response, clock } = startResponse(0);
  response.destroy();
  await once(response, 'close');
  const late = createResponseStream(response, clock);
  const closed = new Promise((resolve) => {
    late.once('close', resolve);
  });
  late.end('late');
  await closed;
  expect(clock.waits()).toEqual([]);
});
