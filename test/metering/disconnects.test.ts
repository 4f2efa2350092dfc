import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { LogLine } from '../support/log-line.ts';
import { openSocketsAt } from '../support/open-sockets.ts';
import { connectTo, postBytes, type RawClient } from '../support/raw-client.ts';
import type { TableCall } from './dynamo-proxy.ts';
import { startTroubledRouter, type TroubledRouter } from './troubled-router.ts';

let router: TroubledRouter;
beforeAll(async () => {
  router = await startTroubledRouter({ patience: 30_000 });
});
afterAll(() => router.close());

const bytesOf = (key: string, stream: boolean): string => {
  const messages = [{ role: 'user', content: 'say one two three four five' }];
  return postBytes('/v1/chat/completions', key, { model: 'test/answers', stream, messages });
};

const get = async (key: string, path: string) => {
  const response = await fetch(`${router.url}${path}`, { headers: { 'x-api-key': key } });
  return (await response.json()) as Record<string, unknown>;
};

const periodOf = async (key: string) => {
  const { period } = (await get(key, '/v1/usage')) as { period: Record<string, number> };
  return { used: period.used, reserved: period.reserved };
};

const newKey = async (): Promise<string> => {
  const key = await router.createKey({ plan: { rpm: 100, quota: 100, period: 'month' } });
  await get(key, '/v1/models');
  return key;
};

const isMeterWrite = ({ operation, key }: TableCall) =>
  operation === 'UpdateItem' && key.startsWith('mtr') && !key.includes('/free/');

/** Holds a write of the next new meter, by its number from 1, until it is released. */
const holdWrite = (number: number) => {
  const known = new Set(router.proxy.calls.filter(isMeterWrite).map(({ key }) => key));
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<'none'>();
  let count = 0;
  router.proxy.decide((call) => {
    if (!isMeterWrite(call) || known.has(call.key)) return 'none';
    count += 1;
    if (count !== number) return 'none';
    reached.resolve();
    return released.promise;
  });
  return { reached: reached.promise, release: () => released.resolve('none') };
};

/** Resolves when the router has noticed it. */
const reset = async ({ socket }: RawClient) => {
  const { localPort } = socket;
  socket.resetAndDestroy();
  const isOpen = () => openSocketsAt(router.url).some(({ remotePort }) => remotePort === localPort);
  await expect.poll(isOpen).toBe(false);
};

/** A client that resets its connection while a write of its meter is under way; the log line of its request. */
const leaveDuring = async (write: number, key: string, stream: boolean): Promise<LogLine> => {
  router.lines.length = 0;
  const hold = holdWrite(write);
  const client = await connectTo(router.url);
  client.socket.write(bytesOf(key, stream));
  await hold.reached;
  await reset(client);
  hold.release();
  return vi.waitUntil(() => router.lines.find(({ method }) => method === 'POST'), {
    timeout: 20_000,
  });
};

const MOMENTS = [
  { moment: 'reservation', write: 1, pays: 'nothing', status: 499, outcome: 'abandoned', used: 0 },
  { moment: 'settlement', write: 2, pays: 'one unit', status: 200, outcome: 'finished', used: 1 },
];
const CASES = MOMENTS.flatMap((moment) => [true, false].map((stream) => ({ ...moment, stream })));

test.each(CASES)(
  'a client that leaves during its $moment pays $pays, and its record says so, streamed: $stream',
  async ({ write, stream, status, outcome, used }) => {
    const key = await newKey();
    const { requestId } = await leaveDuring(write, key, stream);
    await expect.poll(() => periodOf(key)).toEqual({ used, reserved: 0 });
    await expect
      .poll(() => get(key, `/v1/requests/${requestId}`))
      .toMatchObject({ status, outcome, charged: used === 1 });
  },
);
