import { afterAll, beforeAll, expect, test } from 'vitest';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { createLocalDynamoClient } from '../support/local-aws.ts';
import { askFor } from './ask.ts';
import { type Fleet, startFleet } from './fleet.ts';

const NOW = Date.parse('2026-11-21T11:30:00Z');
const PLENTY = 1_000_000;
const PATHS = ['/v1/chat/completions', '/v1/messages'];
const RETRYABLE = { 'retry-after': '1', 'retry-after-ms': '1000', 'x-should-retry': 'true' };
let fleet: Fleet;
beforeAll(async () => {
  // So that the failing target fails after ten seconds, long after a busy machine has sent what must come before.
  fleet = await startFleet({ now: NOW, skews: [-2_000, 0, 1_000, 2_000], slowness: 5 });
});
afterAll(() => fleet.close());

const urlOf = (process: number): string => fleet.servers[process % fleet.servers.length]?.url ?? '';

const usageOf = async (key: string): Promise<{ used: number; reserved: number }> => {
  const response = await fetch(`${urlOf(0)}/v1/usage`, { headers: { 'x-api-key': key } });
  const { period } = (await response.json()) as { period: { used: number; reserved: number } };
  return { used: period.used, reserved: period.reserved };
};

test('of 30 callers of a plan with concurrency 5, five are served by four processes at a time and the others get 429', async () => {
  const key = await fleet.createKey({ plan: { rpm: PLENTY, quota: PLENTY, concurrency: 5 } });
  for (const round of [1, 2]) {
    const leaving = new AbortController();
    const asked = Array.from({ length: 30 }, (_, n) =>
      askFor(urlOf(n), {
        path: PATHS[n % 2] ?? '',
        key,
        model: 'test/stops',
        stream: true,
        signal: leaving.signal,
      }),
    );
    const responses = await Promise.all(asked);
    const denied = responses.filter(({ status }) => status !== 200);
    expect(denied).toHaveLength(25);
    for (const { status, headers } of denied) {
      expect([status, Object.fromEntries(headers)]).toEqual([
        429,
        expect.objectContaining(RETRYABLE),
      ]);
    }
    expect(await usageOf(key)).toEqual({ used: 5 * (round - 1), reserved: 5 });
    leaving.abort();
    await expect.poll(() => usageOf(key)).toEqual({ used: 5 * round, reserved: 0 });
  }
});

/** About what DynamoDB bills: names and texts byte by byte, a number one byte for two digits and one more. */
const bytesOf = (item: Record<string, unknown>): number =>
  Object.entries(item).reduce((sum, [name, value]) => {
    const text = String(value);
    return sum + name.length + (typeof value === 'number' ? text.length / 2 + 1 : text.length);
  }, 0);

test('of 150 callers of a plan with concurrency 130, 130 are served by four processes, and no shard of their meter exceeds 1 KB', async () => {
  const plan = { rpm: PLENTY, quota: PLENTY, concurrency: 130 };
  const key = await fleet.createKey({ plan });
  const leaving = new AbortController();
  const { signal } = leaving;
  const ask = (n: number) =>
    askFor(urlOf(n), { path: PATHS[n % 2] ?? '', key, model: 'test/stops', stream: true, signal });
  const responses = await Promise.all(Array.from({ length: 150 }, (_, n) => ask(n)));
  const statuses = responses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(130);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  expect(await usageOf(key)).toEqual({ used: 0, reserved: 130 });
  const client = createLocalDynamoClient(fleet.home.endpoints.dynamo);
  const { Items = [] } = await client.call('Scan', { TableName: TABLE_NAMES.meters });
  client.destroy();
  const shards = Items.filter(({ pk }) => /\/\d+$/.test(String(pk)));
  expect(shards.length).toBeGreaterThan(1);
  // The first item lends to them, and holds the requests that were in flight before.
  expect(Math.max(...shards.map(bytesOf))).toBeLessThan(1_024);
  leaving.abort();
  await expect.poll(() => usageOf(key)).toEqual({ used: 130, reserved: 0 });
});

test('a last unit that fails at one process is admitted at another at once, 15 times of 15, and no caller gets 402 before it is used', async () => {
  const retryLastUnit = async (path: string) => {
    const key = await fleet.createKey({ plan: { rpm: PLENTY, quota: 1 } });
    const ask = (process: number, model: string) => askFor(urlOf(process), { path, key, model });
    const failing = ask(0, 'test/fails-late');
    await expect.poll(() => usageOf(key)).toEqual({ used: 0, reserved: 1 });
    const denied = await ask(1, 'test/answers');
    expect([denied.status, Object.fromEntries(denied.headers)]).toEqual([
      429,
      expect.objectContaining(RETRYABLE),
    ]);
    expect((await failing).status).toBe(504);
    expect((await ask(1, 'test/answers')).status).toBe(200);
    expect((await ask(1, 'test/answers')).status).toBe(402);
  };
  // At once: later ones would find the breaker of the failing target open.
  await Promise.all(Array.from({ length: 15 }, (_, n) => retryLastUnit(PATHS[n % 2] ?? '')));
});
