import { createRandom, type Random } from './random.ts';

/**
 * The allotments of one meter in several regions, in the design of an escrow: each region spends what it holds without asking, and
 * moves the rest by leases. What a region has given to another is a total that only grows, taken from its own before it is sent,
 * and each message states the total: a lost, late or repeated one changes nothing.
 */
type Region = {
  isAlive: boolean;
  /** How far its clock is ahead, in ms. */
  skew: number;
  /** By period; survives a kill, as an item of the region's table does. */
  stored: Map<number, Allotment>;
};
type Allotment = { used: number; given: number[]; received: number[] };

type Message = {
  at: number;
  from: number;
  to: number;
  period: number;
  given: number;
  wants: number;
};

export type RegionFaults = {
  loss: number;
  duplicate: number;
  partition: number;
  kill: number;
  skewMs: number;
};

/** How a region moves and spends what it holds; replaced where a test needs one that is wrong. */
export type Rule = {
  /** Takes a total that another region states. */
  receive(known: number, stated: number): number;
  /** Whether a request is admitted by a region that holds so much. */
  admits(held: number, isCut: boolean): boolean;
};
export const ESCROW: Rule = { receive: Math.max, admits: (held) => held > 0 };

const PERIOD_MS = 60_000;
const TICK_MS = 100;
/** A region below so much of its first part asks the others. */
const LOW = 0.5;

const allotmentIn = (region: Region, period: number, regions: number): Allotment => {
  const known = region.stored.get(period) ?? {
    ...{ used: 0, given: Array<number>(regions).fill(0), received: Array<number>(regions).fill(0) },
  };
  region.stored.set(period, known);
  return known;
};

const sum = (values: number[]): number => values.reduce((total, one) => total + one, 0);

/** The first part of each, the same wherever it is computed. */
const partOf = (limit: number, regions: number, index: number): number =>
  Math.floor(limit / regions) + (index < limit % regions ? 1 : 0);

type World = {
  random: Random;
  rule: Rule;
  faults: RegionFaults;
  limit: number;
  regions: Region[];
  messages: Message[];
  now: number;
  isCut: boolean;
  /** Requests admitted while the links were cut, and those denied by a region that held something. */
  admittedInCut: number;
  deniedInVain: number;
};

const holds = ({ limit, regions }: World, index: number, own: Allotment): number =>
  partOf(limit, regions.length, index) + sum(own.received) - sum(own.given) - own.used;

const post = (world: World, message: Omit<Message, 'at'>): void => {
  const { random, faults, isCut, now } = world;
  if (isCut || random.chance(faults.loss)) return;
  const copies = random.chance(faults.duplicate) ? 2 : 1;
  for (let copy = 0; copy < copies; copy += 1) {
    world.messages.push({ ...message, at: now + random.between(40, copy === 0 ? 200 : 5_000) });
  }
};

const periodOf = ({ now }: World, { skew }: Region): number => Math.floor((now + skew) / PERIOD_MS);

/** Asks the others, and repeats what it has given, which they may not have heard. */
const exchange = (world: World, index: number): void => {
  const { regions, limit } = world;
  const region = regions[index];
  if (!region?.isAlive) return;
  const period = periodOf(world, region);
  const own = allotmentIn(region, period, regions.length);
  const part = partOf(limit, regions.length, index);
  const wants = Math.max(0, Math.ceil(part * LOW) - holds(world, index, own));
  for (const [to] of regions.entries()) {
    if (to !== index) post(world, { from: index, to, period, given: own.given[to] ?? 0, wants });
  }
};

const hear = (world: World, { from, to, period, given, wants }: Message): void => {
  const { regions, rule } = world;
  const region = regions[to];
  if (!region?.isAlive) return;
  const own = allotmentIn(region, period, regions.length);
  own.received[from] = rule.receive(own.received[from] ?? 0, given);
  const left = holds(world, to, own);
  // Half of it at most: the region that gives is asked next.
  const more = Math.min(wants, Math.floor(left / 2));
  if (more <= 0) return;
  own.given[from] = (own.given[from] ?? 0) + more;
  post(world, { from: to, to: from, period, given: own.given[from] ?? 0, wants: 0 });
};

/** Admits one request, or denies it. */
const ask = (world: World, index: number): void => {
  const { regions, rule, isCut } = world;
  const region = regions[index];
  if (!region?.isAlive) return;
  const own = allotmentIn(region, periodOf(world, region), regions.length);
  const held = holds(world, index, own);
  const isAdmitted = rule.admits(held, isCut);
  if (isAdmitted) own.used += 1;
  world.admittedInCut += Number(isAdmitted && isCut);
  world.deniedInVain += Number(!isAdmitted && held > 0);
};

const usedIn = ({ regions }: World, period: number): number =>
  sum(regions.map(({ stored }) => stored.get(period)?.used ?? 0));

/** Kills and starts regions in the first period; in the second all live. */
const killSome = ({ regions, random, faults, now }: World): void => {
  for (const region of regions) {
    if (!region.isAlive) region.isAlive = random.chance(0.05);
    else if (now < PERIOD_MS && random.chance(faults.kill)) region.isAlive = false;
  }
};

const tick = (world: World, weights: number[]): void => {
  const { now, random } = world;
  killSome(world);
  const due = world.messages.filter(({ at }) => at <= now);
  world.messages = world.messages.filter(({ at }) => at > now);
  for (const message of due) hear(world, message);
  for (const [index, weight] of weights.entries()) {
    for (let n = random.between(0, weight); n > 0; n -= 1) ask(world, index);
    if (now % 500 === 0) exchange(world, index);
  }
};

/** What is left of the second period, in which more was asked than there is, is at most a twentieth. */
const stranded = (world: World, weights: number[]): string[] => {
  const { limit } = world;
  const asked = sum(weights) * (PERIOD_MS / TICK_MS / 2);
  const left = limit - usedIn(world, 1);
  const isDue = asked > 3 * limit;
  return isDue && left > 0.05 * limit + 1 ? [`${left} of ${limit} are stranded`] : [];
};

/** One schedule of two periods, the first under faults: the broken laws in words, and how many were admitted while cut off. */
export const simulateRegions = (seed: number, faults: RegionFaults, rule = ESCROW) => {
  const random = createRandom(seed);
  const regions = Array.from({ length: random.between(2, 3) }, (): Region => {
    const skew = random.between(-faults.skewMs, faults.skewMs);
    return { isAlive: true, skew, stored: new Map() };
  });
  const limit = random.between(40, 400);
  const world: World = {
    ...{ random, rule, faults, limit, regions, messages: [], now: 0, isCut: false },
    ...{ admittedInCut: 0, deniedInVain: 0 },
  };
  const [from, to] = [random.between(500, 30_000), random.between(30_000, 45_000)];
  const isCut = random.chance(faults.partition);
  const weights = regions.map(() => random.between(0, 10));
  const broken: string[] = [];
  // A clock that lags ends its second period later.
  for (; world.now < 2 * PERIOD_MS + faults.skewMs; world.now += TICK_MS) {
    world.isCut = isCut && world.now > from && world.now < to;
    tick(world, weights);
    for (const period of [-1, 0, 1, 2]) {
      const used = usedIn(world, period);
      if (used > limit) broken.push(`${used} of ${limit} in period ${period}`);
    }
  }
  const { deniedInVain, admittedInCut } = world;
  if (deniedInVain > 0) broken.push(`${deniedInVain} were denied by a region that held something`);
  return { broken: [...broken, ...stranded(world, weights)].slice(0, 3), admittedInCut };
};
