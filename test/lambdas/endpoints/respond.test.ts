import { expect, test } from 'vitest';
import { settleOnEnd } from '../../../lambdas/endpoints/respond.ts';
import type { MessageBatches, SseMessage } from '../../../lambdas/protocols/streams/sse.ts';
import { withHeartbeat } from '../../../lambdas/protocols/streams/sse.ts';
import { createCountingClock } from '../../support/counting-clock.ts';

const BEAT: SseMessage = { comment: 'waiting' };
const WORD: SseMessage = { data: '"one"' };

/** A stream that yields one word and is then silent until `end` is called. */
const createSilentStream = () => {
  const silence = Promise.withResolvers<void>();
  let isClosed = false;
  async function* stream(): MessageBatches {
    try {
      yield [WORD];
      await silence.promise;
    } finally {
      isClosed = true;
    }
  }
  return { messages: stream(), end: silence.resolve, isClosed: () => isClosed };
};

const setUpHeartbeat = () => {
  const clock = createCountingClock(0);
  const source = createSilentStream();
  return { clock, source, live: withHeartbeat(source.messages, BEAT, clock) };
};

test('a stream gets a heartbeat after each 10 s of silence, and not earlier', async () => {
  const { clock, live } = setUpHeartbeat();
  expect((await live.next()).value).toEqual([WORD]);
  const batches: unknown[] = [];
  const read = async () => batches.push((await live.next()).value);
  for (const seconds of [10, 20]) {
    const next = read();
    await expect.poll(clock.waits).toEqual([10_000]);
    clock.advance(9_999);
    expect(batches).toHaveLength(seconds / 10 - 1);
    clock.advance(1);
    await next;
  }
  expect(batches).toEqual([[BEAT], [BEAT]]);
});

test('a stream that ends leaves no heartbeat timer', async () => {
  const { clock, source, live } = setUpHeartbeat();
  await live.next();
  source.end();
  expect(await live.next()).toEqual({ value: undefined, done: true });
  expect(clock.waits()).toEqual([]);
});

test('returning a heartbeat stream does not wait for a silent source', async () => {
  const { clock, source, live } = setUpHeartbeat();
  await live.next();
  const beat = live.next();
  await expect.poll(clock.waits).toEqual([10_000]);
  clock.advance(10_000);
  await beat;
  await live.return();
  expect(source.isClosed()).toBe(false);
  source.end();
  await expect.poll(source.isClosed).toBe(true);
});

const setUpSettlement = (messages: MessageBatches) => {
  const calls: string[] = [];
  const answer = {
    fetched: {
      answer: Promise.reject(new Error('not read')),
      tried: [],
      end: () => void calls.push('end the call'),
      abort: () => void calls.push('abort the call'),
    },
    settlement: {
      deliver: () => void calls.push('deliver'),
      fail: async () => void calls.push('fail'),
      end: async () => void calls.push('end'),
      endSoon: async () => void calls.push('settle within a second'),
      deliverEmpty: async () => void calls.push('deliverEmpty'),
      isFree: () => false,
      isEmpty: () => false,
    },
  };
  answer.fetched.answer.catch(() => undefined);
  return { calls, stream: settleOnEnd(messages, answer) };
};

async function* throwing(): MessageBatches {
  yield [WORD];
  throw new Error('broken');
}

test('a stream that is read to its end ends the upstream call and settles its unit once', async () => {
  const source = createSilentStream();
  source.end();
  const { calls, stream } = setUpSettlement(source.messages);
  for await (const batch of stream) expect([batch, calls]).toEqual([[WORD], []]);
  expect(calls).toEqual(['end the call', 'settle within a second']);
});

test('a stream that is returned early aborts the upstream call and settles its unit', async () => {
  const { calls, stream } = setUpSettlement(createSilentStream().messages);
  await stream.next();
  await stream.return();
  expect(calls).toEqual(['abort the call', 'settle within a second']);
});

test('a stream that throws aborts the upstream call and settles its unit', async () => {
  const { calls, stream } = setUpSettlement(throwing());
  await stream.next();
  await expect(stream.next()).rejects.toThrow('broken');
  expect(calls).toEqual(['abort the call', 'settle within a second']);
});

test('a silent stream that is returned settles its unit within one heartbeat', async () => {
  const clock = createCountingClock(0);
  const source = createSilentStream();
  const { calls, stream } = setUpSettlement(withHeartbeat(source.messages, BEAT, clock));
  await stream.next();
  const pending = stream.next();
  const returned = stream.return();
  await expect.poll(clock.waits).toEqual([10_000]);
  expect(calls).toEqual([]);
  clock.advance(10_000);
  await Promise.all([pending, returned]);
  expect(calls).toEqual(['abort the call', 'settle within a second']);
});
