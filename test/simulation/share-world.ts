import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { costOf } from '../../lambdas/routing/shares/fair-queue.ts';
import type { NamedQuota } from '../../lambdas/routing/shares/look.ts';
import { queueIn } from '../../lambdas/routing/shares/queue-text.ts';
import { burstOf } from '../../lambdas/routing/shares/quota.ts';
import type { Shares } from '../../lambdas/routing/shares/shares.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { createFaultyClient, type Faults } from './faulty-network.ts';
import { createMemoryTable, type MemoryTable } from './memory-table.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { amountIn, checkFairness, checkWindows, KINDS, type Log, rateOf } from './share-laws.ts';
import { type Arrival, serveCentrally } from './share-oracle.ts';

export type CreateShares = (
  client: DynamoDBDocumentClient,
  parts: { clock: Clock; random(): number },
) => Shares;

/** `skewMs`: how far a clock may be off. */
export type ShareFaults = Faults & { skewMs?: number };

export type Outcome = {
  /** The broken laws, in words. */
  broken: string[];
  /** What modest tenants got, and what a perfect scheduler gives them. */
  modest: { got: number; fair: number };
};

const START = Date.parse('2026-11-24T12:00:00Z');
const ENDLESS = 3_600_000;
/** The pause between two looks, and the network of the simulation. */
const LOOK_MS = 2_600;
/** Until a process has looked after an arrival, so that the others know of it. */
const KNOWN_MS = 100;
/** Until the place of a process that died is free, which is kept twice, and the next process looks. */
const PLACE_MS = 5_100;
const FIRST = 'team-0';

type Tenant = { name: string; weight: number; size: [number, number]; everyMs: number };

const tenantsOf = (random: Random, tokens: number): Tenant[] =>
  Array.from({ length: random.between(2, 6) }, (_, index) => {
    // Some are above what the bucket holds.
    const most = Math.round(tokens / (random.chance(0.2) ? 4 : 20));
    const percent = index === 0 ? random.between(80, 200) : random.between(5, 40);
    const everyMs = (most * 30_000) / ((tokens * percent) / 100);
    const weight = random.chance(0.5) ? 1 : random.between(1, 5);
    return { name: `team-${index}`, weight, size: [100, most], everyMs };
  });

/** A quota, and tenants of whom the first asks for more than there is. */
const worldFrom = (random: Random) => {
  const tokens = random.between(60, 600) * 1_000;
  const limits = random.chance(0.3) ? { tokens, requests: random.between(20, 200) } : { tokens };
  const end = START + random.between(10, 40) * 1_000;
  const isPatient = random.chance(0.4);
  const arrivals = tenantsOf(random, tokens).flatMap(({ name: flow, weight, size, everyMs }) => {
    const made: Arrival[] = [];
    let at = START + random.between(0, 2_000);
    while (at < end && made.length < 60) {
      const needed = { tokens: random.between(...size), requests: 1 };
      const amounts = 'requests' in limits ? needed : { tokens: needed.tokens };
      const patienceMs = isPatient ? ENDLESS : random.between(0, 3) * 5_000;
      made.push({ at, ask: { flow, weight, amounts }, patienceMs });
      at += Math.round((everyMs * random.between(50, 150)) / 100);
    }
    return made;
  });
  const quota: NamedQuota = { name: 'account model', limits };
  return { quota, arrivals: arrivals.toSorted((one, other) => one.at - other.at), isPatient };
};

type World = Log & {
  scheduler: Scheduler;
  table: MemoryTable;
  broken: string[];
  waiting: Map<Arrival, () => boolean>;
};

/** Those whose process lives. */
const stillWaiting = ({ waiting }: World): number =>
  [...waiting.values()].filter((isAlive) => isAlive()).length;

/** Law 2: a level is never above the burst, nor lower than one request below zero. */
const watchLevels = ({ table, quota, arrivals, broken }: World): void => {
  const largest = KINDS.map((kind) => Math.max(0, ...arrivals.map((one) => amountIn(one, kind))));
  const { update } = table;
  table.update = (input) => {
    const reply = update(input);
    const queue = queueIn(String(reply.item?.text));
    for (const [index, kind] of KINDS.entries()) {
      const level = queue?.levels[kind] ?? 0;
      const isHigh = level > burstOf(quota, kind) + 0.01;
      if (isHigh || level < -(largest[index] ?? 0) - 0.01)
        broken.push(`a level of ${level} ${kind}`);
    }
    return reply;
  };
};

/** Law 3: nobody waits for longer than a look while the bucket is full. */
const watchIdleness = (world: World, longestMs: number): void => {
  const { scheduler, table, quota, broken } = world;
  let since = Number.POSITIVE_INFINITY;
  const watch = () => {
    const now = scheduler.now();
    const queue = queueIn(String(table.get(`share/${quota.name}`)?.text));
    const isFull = KINDS.every((kind) => {
      const level = queue?.levels[kind];
      if (level === undefined || !queue) return true;
      const passed = Math.max(0, now - queue.at);
      return level + passed * rateOf(quota, kind) >= burstOf(quota, kind) - 0.01;
    });
    since = isFull && stillWaiting(world) > 0 ? Math.min(since, now) : Number.POSITIVE_INFINITY;
    if (now - since > longestMs) broken.push('the provider is idle while a request waits');
    scheduler.after(200, watch);
  };
  watch();
};

const startProcess = (
  { scheduler, table }: World,
  { random, faults, create }: { random: Random; faults: ShareFaults; create: CreateShares },
) => {
  const { skewMs = 0 } = faults;
  const state = { isAlive: true };
  const isAlive = () => state.isAlive;
  const skew = random.between(-skewMs, skewMs);
  const clock: Clock = {
    now: () => scheduler.now() + skew,
    after: (ms, action) => scheduler.after(ms, () => isAlive() && action()),
  };
  const client = createFaultyClient({ table, scheduler, random, faults, isAlive });
  if (random.chance(faults.crash)) {
    scheduler.after(random.between(0, 20_000), () => {
      state.isAlive = false;
    });
  }
  const drawn = () => random.between(0, 2 ** 30) / (2 ** 30 + 1);
  return { skew, isAlive, shares: create(client, { clock, random: drawn }) };
};

type Process = ReturnType<typeof startProcess>;

const ask = async (world: World, { isAlive, shares }: Process, arrival: Arrival): Promise<void> => {
  const { scheduler, quota, sent, waits, waiting, broken } = world;
  waiting.set(arrival, isAlive);
  const { signal } = new AbortController();
  const { patienceMs } = arrival;
  const place = await shares.take(quota, arrival.ask, { patienceMs, signal });
  const now = scheduler.now();
  waiting.delete(arrival);
  waits.push({ flow: arrival.ask.flow, from: arrival.at + KNOWN_MS, to: now });
  if (place.isAdmitted) sent.push({ ...arrival, sentAt: now, isUnchecked: place.isUnchecked });
  else if (patienceMs === ENDLESS) broken.push('a patient request was denied');
  else if (place.waitMs <= 0) broken.push('a denial without a time');
};

/** Milliseconds that the quota takes for all requests. */
const neededMs = ({ quota, arrivals }: Log): number => {
  const sumOf = (kind: (typeof KINDS)[number]) =>
    arrivals.reduce((sum, one) => sum + amountIn(one, kind), 0);
  const limited = KINDS.filter((kind) => quota.limits[kind] !== undefined);
  return Math.max(...limited.map((kind) => sumOf(kind) / rateOf(quota, kind)));
};

const gotBy = (quota: NamedQuota, served: Arrival[]): number =>
  served
    .filter((one) => one.ask.flow !== FIRST)
    .reduce((sum, one) => sum + costOf(quota, one.ask) * one.ask.weight, 0);

/** Plays the arrivals on one to six processes, and whoever waits long enough. */
const play = async (
  world: World,
  parts: { random: Random; faults: ShareFaults; create: CreateShares },
): Promise<Process[]> => {
  const { scheduler, arrivals, broken } = world;
  const { random } = parts;
  const processes = Array.from({ length: random.between(1, 6) }, () => startProcess(world, parts));
  for (const arrival of arrivals) {
    scheduler.after(arrival.at - START, () => {
      const alive = processes.filter(({ isAlive }) => isAlive());
      const chosen = alive[random.between(0, alive.length - 1)];
      if (chosen) ask(world, chosen, arrival).catch((error) => broken.push(`threw ${error}`));
    });
  }
  const lastAt = arrivals.at(-1)?.at ?? START;
  await scheduler.run(Math.max(lastAt, START + neededMs(world)) + 30_000);
  return processes;
};

const worldOf = (quota: NamedQuota, arrivals: Arrival[]): World => ({
  ...{ quota, arrivals, sent: [], waits: [], broken: [], waiting: new Map() },
  ...{ scheduler: createScheduler(START), table: createMemoryTable() },
});

/** Runs one schedule. Requests are decided by the table as long as its network loses nothing. */
export const simulateShares = async (
  seed: number,
  faults: ShareFaults,
  create: CreateShares,
): Promise<Outcome> => {
  const random = createRandom(seed);
  const { quota, arrivals } = worldFrom(random);
  const world = worldOf(quota, arrivals);
  const { broken, sent } = world;
  watchLevels(world);
  const { drop, loseReply, late, throttle, crash, skewMs = 0 } = faults;
  const isSound = drop + loseReply + late + throttle === 0;
  if (isSound && skewMs === 0) watchIdleness(world, LOOK_MS + (crash > 0 ? PLACE_MS : 0));
  const processes = await play(world, { random, faults, create });

  // Law 6: all that wait are served as soon as the quota allows, also those above what the bucket holds.
  const left = stillWaiting(world);
  if (isSound && left > 0) broken.push(`${left} requests still wait`);
  const skews = processes.map(({ skew }) => skew);
  const spanMs = Math.max(...skews) - Math.min(...skews);
  broken.push(...checkWindows(world, spanMs));
  if (isSound) broken.push(...checkFairness(world, spanMs + (crash > 0 ? PLACE_MS : 0)));
  const fair = gotBy(quota, serveCentrally(quota, arrivals));
  return { broken, modest: { got: gotBy(quota, sent), fair } };
};

/** Of the quota of a minute: what four tenants ask that wait for more, and two below their share. */
const ISOLATED = { flood: 150, heavy: [20, 20, 20], below: [5, 5] };
const MINUTE = 1_000_000;
const SIZE = { least: 1_000, most: 7_000 };

/** Law 5: how many requests of the tenants below their share are served, with a flood of another tenant and without it. */
export const simulateIsolation = async (
  seed: number,
  faults: ShareFaults,
  create: CreateShares,
): Promise<Record<'asked' | 'alone' | 'flooded', number>> => {
  const random = createRandom(seed);
  const quota: NamedQuota = { name: 'account model', limits: { tokens: MINUTE } };
  const { flood, heavy, below } = ISOLATED;
  const isBelow = ({ ask: { flow } }: Arrival) => Number(flow.slice(5)) > heavy.length;
  const arrivals = [flood, ...heavy, ...below].flatMap((percent, index) => {
    const everyMs = ((SIZE.least + SIZE.most) / 2 / ((MINUTE * percent) / 100)) * 60_000;
    const made: Arrival[] = [];
    for (let at = START; at < START + 30_000; at += everyMs * (random.between(1, 200) / 100)) {
      const amounts = { tokens: random.between(SIZE.least, SIZE.most) };
      made.push({ at, ask: { flow: `team-${index}`, weight: 1, amounts }, patienceMs: 10_000 });
    }
    return made;
  });
  const servedOf = async (these: Arrival[]): Promise<number> => {
    const world = worldOf(quota, these);
    // The same processes.
    await play(world, { random: createRandom(seed), faults, create });
    return world.sent.filter(isBelow).length;
  };
  const inOrder = arrivals.toSorted((one, other) => one.at - other.at);
  const alone = await servedOf(inOrder.filter(({ ask: { flow } }) => flow !== FIRST));
  const flooded = await servedOf(inOrder);
  return { asked: inOrder.filter(isBelow).length, alone, flooded };
};
