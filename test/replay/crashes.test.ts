import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../metering/fleet.ts';
import { createRandom } from '../simulation/random.ts';
import { SEED } from '../support/seeds.ts';
import { textOf } from './replay-bench.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
/** Longer than a lease. */
const LEASE_OVER_MS = 31_000;
/** Units of dead processes are refunded. */
const REAPED_MS = 18 * 60_000;
const PLENTY = { rpm: 1_000_000, quota: 1_000_000 };
const KILLS = Number(process.env.REPLAY_KILLS ?? 2);
const CALLERS = 50;

let fleet: Fleet;
let now = START;
beforeAll(async () => {
  // So that a busy machine stores a response within the time that a caller waits for that.
  fleet = await startFleet({ now, skews: [0, 0, 0, 0], slowness: 5 });
});
afterAll(() => fleet.close());

const pass = (ms: number) => {
  now += ms;
  fleet.setNow(now);
};

const ask = (key: string, { server = 0, stream = true, model = 'test/dawdles' } = {}) =>
  fetch(`${fleet.servers[server]?.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'one',
    },
    body: JSON.stringify({
      model,
      stream,
      messages: [{ role: 'user', content: 'say one two three four five' }],
    }),
  });

/** A complete response's body; undefined if the connection broke. */
const readWhole = async (asked: Promise<Response>): Promise<string | undefined> => {
  try {
    const response = await asked;
    const text = await response.text();
    return response.status === 200 && !text.includes('event: error') ? text : undefined;
  } catch {
    return undefined;
  }
};

const usedBy = async (key: string): Promise<number> => {
  const response = await fetch(`${fleet.servers[1]?.url}/v1/usage`, {
    headers: { 'x-api-key': key },
  });
  const { period } = (await response.json()) as { period: { used: number } };
  return period.used;
};

const withoutHeartbeats = (text: string | undefined) => text?.replaceAll(': waiting\n\n', '');

test(`${CALLERS} callers of four processes with one idempotency key are one upstream call and one unit`, async () => {
  const key = await fleet.createKey({ plan: PLENTY });
  const before = fleet.upstreams.calls.length;
  const texts = await Promise.all(
    Array.from({ length: CALLERS }, (_, n) => readWhole(ask(key, { server: n % 4 }))),
  );
  const bodies = new Set(texts.map(withoutHeartbeats));
  expect([...bodies].map((text) => textOf({ text: text ?? '' }))).toEqual([
    'one two three four five',
  ]);
  expect(fleet.upstreams.calls.length - before).toBe(1);
  expect(await usedBy(key)).toBe(1);
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test(`after ${KILLS} kills of the process that runs a request, its repeat is complete and costs exactly one unit`, async ({
  annotate,
}) => {
  const random = createRandom(SEED);
  const seen = { complete: 0, broken: 0 };
  for (let kill = 0; kill < KILLS; kill += 1) {
    const key = await fleet.createKey({ plan: PLENTY });
    const stream = random.chance(0.6);
    const before = fleet.upstreams.calls.length;
    const first = readWhole(ask(key, { stream }));
    await pause(random.between(0, 600));
    fleet.servers[0]?.process.kill('SIGKILL');
    const received = await first;
    await fleet.replace(0);
    pass(LEASE_OVER_MS);
    const repeat = await readWhole(ask(key, { server: 1, stream }));
    expect(textOf({ text: repeat ?? '' })).toBe('one two three four five');
    if (received !== undefined) expect(repeat).toBe(withoutHeartbeats(received));
    const calls = fleet.upstreams.calls.length - before;
    expect(calls).toBeLessThanOrEqual(received === undefined ? 2 : 1);
    pass(REAPED_MS);
    expect(await usedBy(key)).toBe(1);
    seen[received === undefined ? 'broken' : 'complete'] += 1;
  }
  await annotate(JSON.stringify({ seed: SEED, ...seen }));
}, 3_600_000);
