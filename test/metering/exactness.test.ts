import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import type { Period } from '../../lambdas/stores/plan-store.ts';
import { type Fleet, startFleet } from './fleet.ts';

/** A border of a minute, an hour, a day, a month and a year. */
const BORDER = Date.parse('2027-01-01T00:00:00Z');
const MINUTE = 60_000;
const PLENTY = 1_000_000;

let fleet: Fleet;
/** Each test has separate minutes. */
let now = BORDER - 30 * 24 * 60 * MINUTE;
beforeAll(async () => {
  fleet = await startFleet({ now, skews: [0, 0, 0, 0] });
});
afterAll(() => fleet.close());

type Seen = { status: number; type: string | undefined; headers: Record<string, string> };

/** While the last units are in flight a request over the quota gets the retryable 429. */
const isReserved = ({ status, headers }: Seen): boolean =>
  status === 429 && headers['x-should-retry'] === 'true' && headers['retry-after'] === '1';

const asExhausted = (one: Seen): Seen => ({ ...one, status: 402, type: 'insufficient_quota' });

const BODY = {
  model: 'test/answers',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'say hi' }],
};

const post = async (url: string, path: string, key: string): Promise<Seen> => {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
  });
  const body = (await response.json()) as { error?: { type: string } };
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, type: body.error?.type, headers };
};

const PATHS = ['/v1/chat/completions', '/v1/messages'];

const callAtOnce = (callers: number, key: string, at = fleet.servers): Promise<Seen[]> =>
  Promise.all(
    Array.from({ length: callers }, (_, n) =>
      post(at[n % at.length]?.url ?? '', PATHS[n % PATHS.length] ?? '', key),
    ),
  );

const callInRounds = async (callers: number, key: string): Promise<Seen[]> => {
  const seen: Seen[] = [];
  while (seen.length < callers) {
    seen.push(...(await callAtOnce(Math.min(AT_ONCE, callers - seen.length), key)));
  }
  return seen;
};

const usedIn = async (key: string): Promise<{ minute: number; period: number }> => {
  const response = await fetch(`${fleet.servers[0]?.url}/v1/usage`, {
    headers: { 'x-api-key': key },
  });
  const { minute, period } = (await response.json()) as Record<
    'minute' | 'period',
    { used: number }
  >;
  return { minute: minute.used, period: period.used };
};

const tally = (seen: Seen[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, type = 'answer' } of seen) {
    const name = `${status} ${type}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

const isFull = process.env.METERING_MATRIX === 'full';
const LIMITS = [0, 1, 2, 5, 60, 600];
/** The embedded table takes 20 s for 600 units of one item at the same moment: that is for the soak. */
const AT_ONCE = isFull ? 1_000 : 100;

const callersFor = (limit: number): number[] =>
  isFull
    ? [...new Set([limit + 1, Math.min(1_000, 10 * limit + 10), 1_000])]
    : [limit === 600 ? 650 : limit + 30];

type Cell = {
  limit: number;
  callers: number;
  of: 'rate' | 'quota' | 'rate and quota';
  plan: { rpm: number; quota: number };
  refusal: string;
};

const cellsOf = (limit: number, callers: number): Cell[] => {
  const rate = { rpm: limit, quota: PLENTY };
  const quota = { rpm: PLENTY, quota: limit };
  const noQuota = '402 insufficient_quota';
  return [
    { limit, callers, of: 'rate', plan: rate, refusal: '429 rate_limit_error' },
    { limit, callers, of: 'quota', plan: quota, refusal: noQuota },
    { limit, callers, of: 'rate and quota', plan: { rpm: limit, quota: limit }, refusal: noQuota },
  ];
};

const cells = LIMITS.flatMap((limit) => callersFor(limit).flatMap((m) => cellsOf(limit, m))).filter(
  ({ limit, of }) => isFull || limit < 600 || of === 'rate and quota',
);

describe('four processes on one table', () => {
  test.each(cells)(
    'four processes with a $of of $limit admit exactly $limit of $callers callers',
    async ({ limit, callers, of, plan, refusal }) => {
      now += MINUTE;
      fleet.setNow(now);
      const key = await fleet.createKey({ plan });
      const seen = await callInRounds(callers, key);
      const passed = Math.min(limit, callers);
      // After 60 denials of a small plan a process sends 429 (client-error-limit.ts); only the soak has so many.
      const isMinuteFull = (one: Seen) => of === 'rate and quota' && one.status === 429;
      const denial = (one: Seen): Seen =>
        isReserved(one) || isMinuteFull(one) ? asExhausted(one) : one;
      expect(tally(seen.map(of === 'rate' ? (one) => one : denial))).toEqual({
        ...(passed > 0 && { '200 answer': passed }),
        [refusal]: callers - passed,
      });
      // With no unit in flight, and a second later, because a process repeats a 429 for that long.
      fleet.setNow(now + 1_000);
      if (!isFull) expect(tally(await callAtOnce(1, key))).toEqual({ [refusal]: 1 });
      expect(await usedIn(key)).toEqual({ minute: passed, period: passed });
      const left = seen
        .filter(({ status }) => status === 200)
        .map(({ headers }) => Number(headers['x-ratelimit-remaining-requests']));
      // A meter with more in flight than one item holds is sharded, and each response states an estimate.
      if (limit > SHARDING.marksPerItem) {
        expect(Math.min(...left)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...left)).toBeLessThan(plan.rpm);
        return;
      }
      const expected = Array.from({ length: passed }, (_, n) => plan.rpm - 1 - n);
      expect(left.toSorted((a, b) => b - a)).toEqual(expected);
    },
    300_000,
  );

  test('every denied caller gets the limits in the headers of the protocol', async () => {
    now += MINUTE;
    fleet.setNow(now);
    const key = await fleet.createKey({ plan: { rpm: 1, quota: 5, period: 'day' } });
    await callAtOnce(1, key);
    const [chat, messages] = await callAtOnce(2, key);
    const shared = {
      'x-ratelimit-limit-requests': '1',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '60s',
      'x-quota-limit': '5',
      'x-quota-remaining': '4',
      'retry-after': '60',
      'retry-after-ms': '60000',
    };
    expect(chat).toMatchObject({ status: 429, headers: shared });
    expect(chat?.headers).not.toHaveProperty('anthropic-ratelimit-requests-limit');
    expect(messages).toMatchObject({
      status: 429,
      headers: {
        ...shared,
        'anthropic-ratelimit-requests-limit': '1',
        'anthropic-ratelimit-requests-remaining': '0',
      },
    });
  });
});

describe('across the border of a year, with clocks six seconds apart', () => {
  let skewed: Fleet;
  beforeAll(async () => {
    skewed = await startFleet({ now: BORDER, skews: [-3_000, -1_000, 1_000, 3_000] });
  });
  afterAll(() => skewed.close());

  test.each(['hour', 'day', 'month'] satisfies Period[])(
    'no minute and no %s at the end of a year admits more than its limit, and each is used up',
    async (period) => {
      const key = await skewed.createKey({ plan: { rpm: 6, quota: 5, period } });
      const seen: Seen[] = [];
      for (let second = -5; second <= 5; second += 1) {
        skewed.setNow(BORDER + second * 1_000);
        seen.push(...(await callAtOnce(8, key, skewed.servers)));
      }
      const admitted = seen.filter(({ status }) => status === 200);
      const inPeriod = new Map<string, number>();
      for (const { headers } of admitted) {
        const end = headers['x-quota-reset'] ?? '';
        inPeriod.set(end, (inPeriod.get(end) ?? 0) + 1);
      }
      expect([...inPeriod.values()]).toEqual([5, 5]);
      expect(inPeriod.has('2027-01-01T00:00:00Z')).toBe(true);
      const denied = seen.filter((one) => one.status !== 200 && !isReserved(one));
      expect(new Set(denied.map(({ status }) => status))).toEqual(new Set([402]));
    },
  );
});

describe('a plan that changes', () => {
  test('a changed plan keeps what was used: lowered it denies, raised it admits', async () => {
    now += MINUTE;
    fleet.setNow(now);
    const plan = { id: 'changing', rpm: PLENTY, quota: 5 };
    const key = await fleet.createKey({ plan });
    expect(tally(await callAtOnce(4, key))).toEqual({ '200 answer': 4 });
    const change = async (quota: number) => {
      await fleet.createKey({ plan: { ...plan, quota } });
      // Plans are cached for ten seconds.
      now += 10_000;
      fleet.setNow(now);
    };
    await change(2);
    const [refused] = await callAtOnce(1, key);
    expect(refused).toMatchObject({
      status: 402,
      headers: { 'x-quota-limit': '2', 'x-quota-remaining': '0' },
    });
    await change(6);
    const last = await callAtOnce(8, key);
    expect(tally(last.map((one) => (isReserved(one) ? asExhausted(one) : one)))).toEqual({
      '200 answer': 2,
      '402 insufficient_quota': 6,
    });
  });
});
