import { setTimeout as pause } from 'node:timers/promises';
import { startDynamoProxy } from '../metering/dynamo-proxy.ts';
import { startFleet } from '../metering/fleet.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { type Arrival, serveCentrally } from '../simulation/share-oracle.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { post } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { startBucketProvider } from './bucket-provider.ts';

/** Tenants of four processes on one provider. */
export type Crowd = {
  seed: number;
  tpm: number;
  seconds: number;
  /** What each tenant asks, in percent of the quota. */
  asks: number[];
  /** The plans' `max_wait_ms`. */
  waitMs: number;
  /** Whether the catalog declares the quota. */
  isDeclared: boolean;
  /** Milliseconds by which the clocks of the processes are off. */
  skews: number[];
  /** Milliseconds after which a process is killed, again and again; 0 for never. */
  killEveryMs: number;
  /** How many seconds each of these takes: a busy machine delays what it does less in slow time. */
  slowness: number;
};

export type Result = {
  asked: number;
  served: number;
  rejected: number;
  /** What a request of the mean size is of what the nine are due. */
  ofOne: number;
  writes: number;
  waitedMs: number[];
  /** Statuses, and codes of errors. */
  outcomes: Record<string, number>;
  /** What a perfect scheduler makes of the same requests, and what comes of them first come, first served. */
  perfect: Fairness;
  firstCome: Fairness;
} & Fairness;

/** `used` of what was asked and there until the last request; the others of what each tenant is due. */
type Fairness = {
  used: number;
  nine: number;
  worst: number;
  jain: number;
};

const SIZES: [number, number] = [1_000, 7_000];
const MAX_TOKENS = 50;
/** What the provider's bucket holds: more than the burst of the shares, less than a vendor's minute. */
const HOLDS_MS = 10_000;
const WORD = 'word ';

/** Exponential, of a Poisson process. */
const gapOf = (random: Random, meanMs: number): number =>
  -Math.log(random.between(1, 10_000) / 10_001) * meanMs;

/** What each tenant is due: as much as it asks, or an equal part of what the others leave. */
const dueOf = (asked: number[], capacity: number): number[] => {
  const due = asked.map(() => 0);
  let open = asked.map((_, index) => index);
  let left = capacity;
  while (open.length > 0) {
    const part = left / open.length;
    const content = open.filter((index) => (asked[index] ?? 0) <= part);
    if (content.length === 0) {
      for (const index of open) due[index] = part;
      return due;
    }
    for (const index of content) {
      due[index] = asked[index] ?? 0;
      left -= asked[index] ?? 0;
    }
    open = open.filter((index) => !content.includes(index));
  }
  return due;
};

/** Jain's index of what tenants got of what they are due. */
const jainOf = (shares: number[]): number => {
  const sum = shares.reduce((total, one) => total + one, 0);
  return sum ** 2 / (shares.length * shares.reduce((total, one) => total + one ** 2, 0));
};

/** What the provider's bucket admits of requests in their order. */
const serveFirstCome = (arrivals: Arrival[], tpm: number): Arrival[] => {
  const rate = tpm / 60_000;
  let level = (rate * HOLDS_MS) / 2;
  let before = arrivals[0]?.at ?? 0;
  return arrivals.filter(({ at, ask: { amounts } }) => {
    level = Math.min(rate * HOLDS_MS, level + rate * (at - before));
    before = at;
    const isServed = level >= (amounts.tokens ?? 0);
    if (isServed) level -= amounts.tokens ?? 0;
    return isServed;
  });
};

const bodyOf = (tenant: string, tokens: number): string =>
  JSON.stringify({
    model: 'vendor/model',
    stream: true,
    max_tokens: MAX_TOKENS,
    messages: [{ role: 'user', content: `${WORD.repeat(tokens)}tenant=${tenant}` }],
  });

export const runCrowd = async (crowd: Crowd): Promise<Result> => {
  const { tpm, asks, isDeclared, skews, slowness } = crowd;
  const beganAt = Date.now();
  const now = () => Math.round(beganAt + (Date.now() - beganAt) / slowness);
  const sleep = (ms: number) => pause(ms * slowness);
  const random = createRandom(crowd.seed);
  const provider = await startBucketProvider({ tpm, holdsMs: HOLDS_MS, now });
  let writes = 0;
  const proxies: Awaited<ReturnType<typeof startDynamoProxy>>[] = [];
  const target = targetAt(provider.url, {
    counting: { family: 'o200k' },
    ...(isDeclared && { quota: { tpm } }),
  });
  const fleet = await startFleet({
    now: now(),
    ...{ skews, slowness },
    local: { catalog: [modelOn([target])], secrets: { secret: 'credential' } },
    wayToTables: async (endpoint) => {
      const proxy = await startDynamoProxy(endpoint);
      proxy.decide(({ operation, table, key }) => {
        if (operation === 'UpdateItem' && table === TABLE_NAMES.meters && key.startsWith('share/'))
          writes += 1;
        return 'none';
      });
      proxies.push(proxy);
      return proxy.url;
    },
  });
  const clock = setInterval(() => fleet.setNow(now()), 20 * slowness);
  const admin = async (path: string, body: object): Promise<unknown> =>
    (await post(fleet.home, `/admin${path}`, body)).json();
  await admin('/plans', {
    ...{ id: 'plan', rpm: 1_000_000, quota: 1_000_000, period: 'month' },
    max_wait_ms: crowd.waitMs,
  });
  const keys = new Map<string, string>();
  for (const [index] of asks.entries()) {
    await admin('/projects', { id: `team-${index}` });
    const key = (await admin(`/projects/team-${index}/keys`, { plan: 'plan' })) as { key: string };
    keys.set(`team-${index}`, key.key);
  }

  const outcomes: Record<string, number> = {};
  const waitedMs: number[] = [];
  const arrivals: Arrival[] = [];
  const send = async (tenant: string, tokens: number): Promise<void> => {
    const startedAt = now();
    let outcome: string;
    try {
      const response = await fetch(
        `${fleet.servers[random.between(0, skews.length - 1)]?.url}/v1/chat/completions`,
        {
          method: 'POST',
          headers: { 'x-api-key': keys.get(tenant) ?? '', 'content-type': 'application/json' },
          body: bodyOf(tenant, tokens),
        },
      );
      const text = await response.text();
      // A stream that waited for 10 s has its status, and its error follows.
      const isStream = response.ok && !text.includes('"error"');
      const [, code = ''] = isStream ? [] : (/"code": ?"(\w+)"/.exec(text) ?? []);
      outcome = `${response.status} ${code}`.trim();
      if (isStream) waitedMs.push(now() - startedAt);
      const isTrue = response.status !== 503 || Number(response.headers.get('retry-after')) > 0;
      if (!isTrue) outcome = '503 without a time';
    } catch {
      outcome = 'killed';
    }
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };

  const end = now() + crowd.seconds * 1_000;
  const mean = (SIZES[0] + SIZES[1]) / 2 + MAX_TOKENS;
  const sending: Promise<void>[] = [];
  const work = async (tenant: string, percent: number): Promise<void> => {
    const meanMs = (mean * 60_000) / ((tpm * percent) / 100);
    for (;;) {
      const gapMs = gapOf(random, meanMs);
      // A tenant that asks seldom would hold the end of the run up for minutes.
      if (now() + gapMs > end) return;
      await sleep(gapMs);
      const tokens = random.between(...SIZES);
      const ask = { flow: tenant, weight: 1, amounts: { tokens: tokens + MAX_TOKENS } };
      arrivals.push({ at: now(), ask, patienceMs: crowd.waitMs });
      sending.push(send(tenant, tokens));
    }
  };
  const kill = async (): Promise<void> => {
    for (;;) {
      await sleep(crowd.killEveryMs);
      if (now() > end - crowd.killEveryMs) return;
      await fleet.replace(random.between(0, skews.length - 1));
    }
  };
  const startedAt = now();
  await Promise.all([
    ...asks.map((percent, index) => work(`team-${index}`, percent)),
    ...(crowd.killEveryMs > 0 ? [kill()] : []),
  ]);
  await Promise.all(sending);
  const tookMs = now() - startedAt;
  clearInterval(clock);
  await fleet.close();
  await Promise.all([...proxies.map((proxy) => proxy.close()), provider.close()]);

  const names = [...keys.keys()];
  const sumOf = (tokens: number[]) => tokens.reduce((sum, one) => sum + one, 0);
  const tokensOf = (some: Arrival[], tenants: string[]) =>
    sumOf(some.map(({ ask }) => (tenants.includes(ask.flow) ? (ask.amounts.tokens ?? 0) : 0)));
  const accepted = provider.log.filter(({ isRejected }) => !isRejected);
  const capacityOf = (ms: number) => (tpm * (ms + HOLDS_MS / 2)) / 60_000;
  const due = dueOf(
    names.map((name) => tokensOf(arrivals, [name])),
    capacityOf(tookMs),
  );
  const ofNine = (tokens: number) => tokens / sumOf(due.slice(1));
  const usable = Math.min(tokensOf(arrivals, names), capacityOf(end - startedAt));
  const fairnessOf = (served: { at: number; tenant: string; tokens: number }[]): Fairness => {
    const got = names.map((name) =>
      sumOf(served.map(({ tenant, tokens }) => (tenant === name ? tokens : 0))),
    );
    const shares = got.map((tokens, index) => tokens / (due[index] || 1));
    const inTime = served.filter(({ at }) => at <= end);
    return {
      used: sumOf(inTime.map(({ tokens }) => tokens)) / usable,
      nine: ofNine(sumOf(got.slice(1))),
      worst: Math.min(...shares.slice(1)),
      jain: jainOf(shares),
    };
  };
  const entryOf = ({ at, ask: { flow, amounts } }: Arrival) => ({
    ...{ at, tenant: flow, tokens: amounts.tokens ?? 0 },
  });
  const served = serveCentrally({ limits: { tokens: tpm } }, arrivals);
  return {
    ...fairnessOf(accepted),
    perfect: fairnessOf(served.map((one) => entryOf({ ...one, at: one.servedAt }))),
    firstCome: fairnessOf(serveFirstCome(arrivals, tpm).map(entryOf)),
    asked: sending.length,
    served: accepted.length,
    rejected: (provider.log.length - accepted.length) / Math.max(1, provider.log.length),
    ofOne: ofNine(mean),
    writes: writes / Math.max(1, sending.length),
    waitedMs: waitedMs.toSorted((one, other) => one - other),
    outcomes,
  };
};
