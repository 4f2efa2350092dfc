import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SHARDING } from '../../lambdas/stores/dynamo/meter-shards.ts';
import { checksAll, sample } from '../support/seeds.ts';
import { type Call, callAtOnce, isReserved, type Seen, tally, usageOf } from './callers.ts';
import { type Fleet, startFleet } from './fleet.ts';

const START = Date.parse('2026-12-02T00:00:00Z');
const MINUTE = 60_000;
const PLENTY = 1_000_000;
let fleet: Fleet;
let now = START;
beforeAll(async () => {
  fleet = await startFleet({ now, skews: [0, 0, 0, 0] });
});
afterAll(() => fleet.close());

const setNow = (next: number) => {
  now = next;
  fleet.setNow(now);
};

/** Each test has separate minutes, in which a breaker that an earlier one opened lets a call pass. */
const startMinute = () => setNow(now - (now % MINUTE) + 10 * MINUTE);

const asExhausted = (one: Seen): Seen => ({ ...one, status: 402, type: 'insufficient_quota' });

const answersFor = (callers: number, key: string): Call[] =>
  Array.from({ length: callers }, () => ({ key, model: 'test/answers' }));

const askAtOnce = (callers: number, key: string): Promise<Seen[]> =>
  callAtOnce(fleet.servers, answersFor(callers, key));

const askInRounds = async (callers: number, key: string): Promise<Seen[]> => {
  const seen: Seen[] = [];
  while (seen.length < callers) {
    seen.push(...(await askAtOnce(Math.min(AT_ONCE, callers - seen.length), key)));
  }
  return seen;
};

const isFull = process.env.METERING_MATRIX === 'full';
/** More than one item of a meter holds in flight. */
const SHARDED = isFull || checksAll ? 600 : 150;
const LIMITS = [0, 1, 2, 5, 60, SHARDED];
/** The embedded table takes 20 s for 600 units of one item at the same moment: that is for the soak. */
const AT_ONCE = isFull ? 1_000 : 100;

const callersFor = (limit: number): number[] =>
  isFull
    ? [...new Set([limit + 1, Math.min(1_000, 10 * limit + 10), 1_000])]
    : [limit + (checksAll ? 50 : 12)];

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

/** In `npm test` each limit once and each kind twice; a sharded one of a rate and a quota. */
const cells = LIMITS.flatMap((limit, row) =>
  callersFor(limit).flatMap((callers) => {
    const all = cellsOf(limit, callers);
    return isFull ? all : sample(all, all.length, row);
  }),
).filter(({ limit, of }) => isFull || limit < SHARDED || of === 'rate and quota');

describe('four processes on one table', () => {
  test.each(cells)(
    'four processes with a $of of $limit admit exactly $limit of $callers callers',
    async ({ limit, callers, of, plan, refusal }) => {
      startMinute();
      const key = await fleet.createKey({ plan });
      const seen = await askInRounds(callers, key);
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
      setNow(now + 1_000);
      if (!isFull) expect(tally(await askAtOnce(1, key))).toEqual({ [refusal]: 1 });
      expect(await usageOf(fleet, key)).toEqual({ minute: passed, period: passed, reserved: 0 });
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
  );

  test('every denied caller gets the limits in the headers of the protocol', async () => {
    startMinute();
    const key = await fleet.createKey({ plan: { rpm: 1, quota: 5, period: 'day' } });
    await askAtOnce(1, key);
    const [chat, messages] = await askAtOnce(2, key);
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

const FAILURES = {
  none: undefined,
  'status 500': { model: 'test/fails', whole: '502 api_error', streamed: '502 api_error' },
  'a cut in mid-stream': { model: 'test/cut', whole: '502 api_error', streamed: '200 error event' },
};

type Mix = {
  of: 'rate' | 'quota';
  shape: 'whole' | 'streamed';
  processes: 1 | 4;
  failure: keyof typeof FAILURES;
};

const [NONE, STATUS, CUT] = ['none', 'status 500', 'a cut in mid-stream'] as const;

/** Each pair of values is in one of these six of the 24. */
const PAIRS: Mix[] = [
  { of: 'rate', shape: 'whole', processes: 1, failure: NONE },
  { of: 'quota', shape: 'streamed', processes: 4, failure: NONE },
  { of: 'rate', shape: 'streamed', processes: 4, failure: STATUS },
  { of: 'quota', shape: 'whole', processes: 1, failure: STATUS },
  { of: 'rate', shape: 'streamed', processes: 1, failure: CUT },
  { of: 'quota', shape: 'whole', processes: 4, failure: CUT },
];

const ALL = PAIRS.flatMap(({ of, failure }) =>
  (['whole', 'streamed'] as const).flatMap((shape) =>
    ([1, 4] as const).map((processes): Mix => ({ of, shape, processes, failure })),
  ),
);

const mixes = isFull
  ? [1, 60, 250].flatMap((limit) => ALL.map((mix) => ({ ...mix, limit, callers: 2 * limit + 50 })))
  : PAIRS.map((mix) => ({ ...mix, limit: 20, callers: checksAll ? 60 : 45 }));

/** Callers of a retryable 429 call again a second later, as its headers ask them to, within the same minute. */
const askUntilDecided = async (
  servers: Fleet['servers'],
  calls: Call[],
  retries = 50,
): Promise<Seen[]> => {
  const seen = await callAtOnce(servers, calls);
  const waiting = seen.filter(isReserved).map(({ call }) => call);
  if (waiting.length === 0 || retries === 0) return seen;
  setNow(now + 1_000);
  const decided = seen.filter((one) => !isReserved(one));
  return [...decided, ...(await askUntilDecided(servers, waiting, retries - 1))];
};

const isDenied = ({ status }: Seen): boolean => status === 402 || status === 429;

/** The kind of a denial with what its headers advise. */
const adviceOf = ({ status, type, headers }: Seen): string => {
  const wait = Number(headers['retry-after']) <= 60 ? 'next minute' : 'next period';
  return `${status} ${type}: ${wait}, ${headers['x-should-retry'] ?? 'may retry'}`;
};

const ADVICE = {
  rate: '429 rate_limit_error: next minute, may retry',
  quota: '402 insufficient_quota: next period, false',
};

describe('requests that fail among requests that are answered', () => {
  test.each(mixes)(
    'a $of of $limit is used up exactly by $callers callers, failure: $failure, responses: $shape, processes: $processes',
    async ({ of, limit, callers, failure: name, shape, processes }) => {
      startMinute();
      const plan = { rpm: PLENTY, quota: PLENTY, [of === 'rate' ? 'rpm' : 'quota']: limit };
      const key = await fleet.createKey({ plan });
      const servers = fleet.servers.slice(0, processes);
      const answered: Call = { key, model: 'test/answers', stream: shape === 'streamed' };
      const failure = FAILURES[name];
      const failing: Call = { ...answered, model: failure?.model ?? answered.model };
      // The first fails alone: with a limit of 1 none of the others might.
      const first = await callAtOnce(servers, failure ? [failing] : []);
      expect(tally(first)).toEqual(failure ? { [failure[shape]]: 1 } : {});
      const calls = Array.from({ length: callers }, (_, n) => (n % 3 === 0 ? failing : answered));
      const seen = [...first, ...(await askUntilDecided(servers, calls))];
      const passed = seen.filter(({ type }) => type === 'answer');
      const denied = seen.filter(isDenied);
      const failed = seen.filter((one) => one.type !== 'answer' && !isDenied(one));
      // A failure returns its unit of the quota, and not its place in the minute.
      const admitted = passed.length + failed.length;
      expect(of === 'rate' ? admitted : passed.length).toBe(limit);
      expect(failed.filter(({ call }) => call.model !== failure?.model)).toEqual([]);
      expect([...new Set(denied.map(adviceOf))]).toEqual([ADVICE[of]]);
      const used = { minute: admitted, period: passed.length, reserved: 0 };
      // The clock stands still, and a minute has 600 calls that cost no unit.
      await expect.poll(() => usageOf(fleet, key), { interval: 50 }).toEqual(used);
    },
  );
});

describe('a plan that changes', () => {
  test('a changed plan keeps what was used: lowered it denies, raised it admits', async () => {
    startMinute();
    const plan = { id: 'changing', rpm: PLENTY, quota: 5 };
    const key = await fleet.createKey({ plan });
    expect(tally(await askAtOnce(4, key))).toEqual({ '200 answer': 4 });
    const change = async (quota: number) => {
      await fleet.createKey({ plan: { ...plan, quota } });
      // Plans are cached for ten seconds.
      setNow(now + 10_000);
    };
    await change(2);
    const [refused] = await askAtOnce(1, key);
    expect(refused).toMatchObject({
      status: 402,
      headers: { 'x-quota-limit': '2', 'x-quota-remaining': '0' },
    });
    await change(6);
    const last = await askAtOnce(8, key);
    expect(tally(last.map((one) => (isReserved(one) ? asExhausted(one) : one)))).toEqual({
      '200 answer': 2,
      '402 insufficient_quota': 6,
    });
  });
});
