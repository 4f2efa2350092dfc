import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRandom } from '../simulation/random.ts';
import { checksAll, SEED } from '../support/seeds.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { generate, type Outcome } from './ledger.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const REAPED_AFTER = 18 * 60_000;
const PLENTY = { rpm: 1_000_000, quota: 1_000_000 };
const KILLS = Number(process.env.METERING_KILLS ?? (checksAll ? 6 : 2));
const CALLERS = 12;
let fleet: Fleet;
let now = START;
beforeAll(async () => {
  fleet = await startFleet({ now, skews: [0, 0] });
});
afterAll(() => fleet.close());

type PeriodUsage = { used: number; reserved: number };

const usageOf = async (key: string): Promise<PeriodUsage> => {
  const response = await fetch(`${fleet.servers[0]?.url}/v1/usage`, {
    headers: { 'x-api-key': key },
  });
  return ((await response.json()) as { period: PeriodUsage }).period;
};

const afterTheReaper = (key: string): Promise<PeriodUsage> => {
  now += REAPED_AFTER;
  fleet.setNow(now);
  return usageOf(key);
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const killAll = async () => {
  await Promise.all(fleet.servers.map((_, index) => fleet.replace(index)));
};

const request = (
  key: string,
  n: number,
  model: string,
  stream: boolean,
  onContent?: () => void,
) => {
  const path = n % 3 === 0 ? '/v1/messages' : '/v1/chat/completions';
  const url = fleet.servers[n % fleet.servers.length]?.url ?? '';
  return generate(url, { key, path, model, stream }, onContent);
};

test('requests killed before their first content are free 17 minutes later', async () => {
  const key = await fleet.createKey({ plan: PLENTY });
  const calls = Array.from({ length: 12 }, (_, n) => request(key, n, 'test/hangs', n % 2 === 0));
  const hanging = () => fleet.upstreams.calls.filter(({ model }) => model.startsWith('hangs'));
  await expect.poll(() => hanging().length).toBe(12);
  await expect.poll(() => usageOf(key)).toMatchObject({ used: 0, reserved: 12 });
  await killAll();
  expect(new Set(await Promise.all(calls))).toEqual(new Set<Outcome>(['unknown']));
  expect(await afterTheReaper(key)).toMatchObject({ used: 0, reserved: 0 });
});

test('requests killed after their first content are free 17 minutes later', async () => {
  const key = await fleet.createKey({ plan: PLENTY });
  const begun = new Set<number>();
  const calls = Array.from({ length: 12 }, (_, n) =>
    request(key, n, 'test/stops', true, () => begun.add(n)),
  );
  await expect.poll(() => begun.size).toBe(12);
  await killAll();
  expect(new Set(await Promise.all(calls))).toEqual(new Set<Outcome>(['broken']));
  expect(await afterTheReaper(key)).toMatchObject({ used: 0, reserved: 0 });
});

test(
  `after ${KILLS} kills at random moments the meter matches what the callers received`,
  async ({ annotate }) => {
    const random = createRandom(SEED);
    const key = await fleet.createKey({ plan: PLENTY });
    const models = ['test/answers', 'test/dawdles', 'test/dawdles', 'test/breaks', 'test/refuses'];
    const outcomes: Outcome[] = [];
    let isOver = false;
    const caller = async () => {
      while (!isOver) {
        const model = models[random.between(0, models.length - 1)] ?? '';
        outcomes.push(await request(key, random.between(0, 5), model, random.chance(0.6)));
      }
    };
    const callers = Array.from({ length: CALLERS }, caller);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await pause(random.between(0, 200));
      await fleet.replace(random.between(0, fleet.servers.length - 1));
    }
    await pause(200);
    isOver = true;
    await Promise.all(callers);
    const count = (wanted: Outcome) => outcomes.filter((outcome) => outcome === wanted).length;
    const { used, reserved } = await afterTheReaper(key);
    const [charged, free] = [count('charged'), count('free')];
    const [broken, unknown] = [count('broken'), count('unknown')];
    await annotate(JSON.stringify({ seed: SEED, used, charged, broken, unknown, free }));
    // The rule of the ledger. A response that the caller read to its end is charged, because the charge is written
    // before the end is sent. A response whose connection broke is charged only if the process died in between.
    // A response that ended with an error is free. No unit stays reserved.
    expect(used).toBeGreaterThanOrEqual(charged);
    expect(used).toBeLessThanOrEqual(charged + broken + unknown);
    expect(reserved).toBe(0);
    expect(charged).toBeGreaterThan(KILLS);
    expect(free).toBeGreaterThan(0);
  },
  30_000 * KILLS,
);
