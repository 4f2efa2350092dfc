import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Asked, askFor } from './ask.ts';
import type { TableCall, Trouble } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

let router: TroubledRouter;
beforeAll(async () => {
  // Calls are counted here: on a busy machine none may be repeated because it took a second.
  router = await startTroubledRouter({ patience: 30_000 });
});
beforeEach(() => {
  router.proxy.decide(() => 'none');
  router.lines.length = 0;
  // A breaker that the last test opened is half-open by now.
  router.advance(3_600_000);
});
afterAll(() => router.close());

const FAMILIES = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];
const CONTENT = /"content":"[^"]|"text_delta"|output_text\.delta/;
const FAILURE = /event: error/;

const ask = (asked: Asked): Promise<Response> => askFor(router.url, asked);

/** Reads the stream until it has said something like this. */
const readUntil = async (response: Response, pattern: RegExp): Promise<void> => {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!pattern.test(text)) {
    const { done = true, value = '' } = (await reader?.read()) ?? {};
    if (done) throw new Error(`The stream ended without ${pattern}: ${text}`);
    text += value;
  }
};

const newKey = (quota = 1_000) =>
  router.createKey({ plan: { rpm: 1_000_000, quota, period: 'month' } });

type PeriodUsage = { used: number; reserved: number };

const usageOf = async (key: string): Promise<PeriodUsage> => {
  const response = await fetch(`${router.url}/v1/usage`, { headers: { 'x-api-key': key } });
  return ((await response.json()) as { period: PeriodUsage }).period;
};

/** Units of a meter without requests in flight. */
const usedBy = async (key: string): Promise<number> => {
  const { used, reserved } = await usageOf(key);
  expect(reserved).toBe(0);
  return used;
};

const isWrite = ({ operation, key }: TableCall) =>
  operation === 'UpdateItem' && key.startsWith('mtr') && !key.includes('/free/');

/** What befalls the writes from here on, by their number, from 1. */
const troubleWrites = (decide: (n: number) => Trouble | Promise<Trouble>) => {
  let count = 0;
  router.proxy.decide((call) => {
    if (!isWrite(call)) return 'none';
    count += 1;
    return decide(count);
  });
};

/** The writes of what `request` does, once its line is in the log and they are as many as expected. */
const writesOf = async (request: () => Promise<unknown>, expected: number): Promise<number> => {
  const before = router.proxy.calls.length;
  const count = () => router.proxy.calls.slice(before).filter(isWrite).length;
  router.lines.length = 0;
  await request();
  await untilOver();
  await expect.poll(count).toBeGreaterThanOrEqual(expected);
  return count();
};

const untilOver = () =>
  expect.poll(() => router.lines.filter(({ event }) => event === 'request').length).toBe(1);

const leaveAfter = async (asked: Asked, seen: 'status' | 'content'): Promise<void> => {
  const leaving = new AbortController();
  const response = ask({ ...asked, signal: leaving.signal });
  if (seen === 'content') await readUntil(await response, CONTENT);
  // A model that hangs never sends its status: leave while the upstream is being asked.
  else await expect.poll(() => router.upstreams.calls.at(-1)?.outcome).toBe('open');
  leaving.abort();
  await response.catch(() => undefined);
};

describe.each(FAMILIES)('on %s', (path) => {
  test.each([
    { what: 'a whole answer', model: 'test/answers', stream: false, charged: 1, writes: 2 },
    { what: 'a streamed answer', model: 'test/answers', stream: true, charged: 1, writes: 2 },
    { what: 'a failure', model: 'test/refuses', stream: false, charged: 0, writes: 2 },
    { what: 'a streamed failure', model: 'test/refuses', stream: true, charged: 0, writes: 2 },
    {
      what: 'an answer that breaks off',
      model: 'test/breaks',
      stream: false,
      charged: 0,
      writes: 2,
    },
    { what: 'a stream that breaks off', model: 'test/breaks', stream: true, charged: 0, writes: 2 },
    { what: 'an unknown model', model: 'test/nothing', stream: false, charged: 0, writes: 0 },
  ])(
    '$what costs $charged and takes $writes writes',
    async ({ model, stream, charged, writes }) => {
      const key = await newKey();
      const request = async () => (await ask({ path, key, model, stream })).text();
      expect(await writesOf(request, writes)).toBe(writes);
      expect(await usedBy(key)).toBe(charged);
    },
  );

  test.each([
    { seen: 'status' as const, model: 'test/hangs', charged: 0, writes: 2 },
    { seen: 'content' as const, model: 'test/stops', charged: 1, writes: 2 },
  ])('a caller who disconnects before the next $seen is charged $charged', async (row) => {
    const key = await newKey();
    const { seen, model, charged, writes } = row;
    const leave = () => leaveAfter({ path, key, model, stream: true }, seen);
    expect(await writesOf(leave, writes)).toBe(writes);
    expect(await usedBy(key)).toBe(charged);
  });

  test('an error is sent after its refund: the last unit can be used again', async () => {
    const key = await newKey(1);
    troubleWrites((n) => (n === 2 ? 'slow' : 'none'));
    const failed = await ask({ path, key, model: 'test/refuses' });
    expect([failed.status, await usedBy(key)]).toEqual([503, 0]);
    expect(failed.headers.get('x-quota-remaining')).toBe('1');
    expect((await ask({ path, key, model: 'test/answers' })).status).toBe(200);
  });

  test('an error in mid-stream is sent after its refund', async () => {
    const key = await newKey(1);
    troubleWrites((n) => (n === 2 ? 'slow' : 'none'));
    await readUntil(await ask({ path, key, model: 'test/breaks', stream: true }), FAILURE);
    expect(await usedBy(key)).toBe(0);
  });

  test('no content is sent before the reservation is written, and the charge is written before the end', async () => {
    const key = await newKey();
    const charge = Promise.withResolvers<Trouble>();
    troubleWrites((n) => (n === 1 ? 'slow' : charge.promise));
    const response = await ask({ path, key, model: 'test/answers', stream: true });
    expect(await usageOf(key)).toMatchObject({ used: 0, reserved: 1 });
    charge.resolve('slow');
    await response.text();
    expect(await usageOf(key)).toMatchObject({ used: 1, reserved: 0 });
  });
});
