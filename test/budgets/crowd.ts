import { setTimeout as pause } from 'node:timers/promises';
import {
  type DynamoProxy,
  startDynamoProxy,
  type TableCall,
  type Trouble,
} from '../metering/dynamo-proxy.ts';
import { type Fleet, startFleet } from '../metering/fleet.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { modelsAt } from './lab.ts';
import { startMeteredProvider } from './metered-provider.ts';

/** Agents that share one budget, each with one request after another until the budget is used up. */
export type Crowd = {
  seed: number;
  agents: number;
  keys: number;
  maxUsd: number;
  /** Tokens of the prompts. */
  context: [number, number];
  /** Median and upper bound of the tokens of output. */
  output: [number, number];
  /** Share of the prompts that the provider's cache has lost. */
  lost: number;
  /** Kills a process after so many responses; 0 for none. */
  killEvery: number;
  /** Share of the calls of the tables that fail. */
  troubles: number;
  /** Seconds of agents, provider and the processes' clocks that pass in one. */
  speed: number;
};

const PROCESSES = [0, 300, -250, 40];
const LEASE_PER_TOKEN = 1.2 * 6_250;
/** The leases that are left of a budget from which on it is near its limit, as in fuse.ts. */
const NEAR = 20;
/** Generated before a session has a new prompt that no cache has. */
const FRESH: [number, number] = [500, 4_500];
const TOKENS_PER_EVENT = 8;
/** 80 tokens a second. */
const EVENT_MS = 100;
/** Four tokens; words would be twice the bytes, which a thousand agents send again at each 429. */
const WORDS = '; , . : ';
/** Between the first requests of two agents. */
const ARRIVAL_MS = 10;
/** A caller doubles its wait at each 429 up to this many times. */
const LONGEST_WAIT = 8;
const PATHS = ['/v1/messages', '/v1/chat/completions'];
const TROUBLES: Trouble[] = ['slow', 'twice', 'lost answer', 'reset', 'throttled', 'late'];

/** Of one call of a table, where some have no response. */
const PATIENCE_MS = 2_000;
/** 429s one after another until an agent gives up, where leases of killed processes are in the way for 17 minutes. */
const MOST_WAITS = 5;
/** Before the request of a process that was killed is sent again. */
const KILLED_MS = 200;

type Outcome = 'served' | 'used up' | number;
type Phase = 'far' | 'near';
/** `kinds`: the writes by what they are for. */
type Counts = { served: number; writes: number; kinds: Partial<Record<Kind, number>> };
type Kind = 'reserve again' | 'slice' | 'return' | 'grant' | 'recall' | 'transfer';

/** What agents and tables saw. */
export type Tally = {
  attempts: number;
  denied: Record<number, number>;
  failed: number;
  /** 402s before 95 % of the budget was billed. */
  early: number;
  /** By what the last response had as its budget's rest. */
  far: Counts;
  near: Counts;
  /** Writes that reserve, also those that are denied. */
  reserves: number;
  seconds: number;
};

/** Log-normal with a deviation of 1.1, by the sum of twelve uniform numbers. */
const outputFrom = (random: Random, [median, most]: [number, number]): number => {
  let sum = -6;
  for (let n = 0; n < 12; n += 1) sum += random.between(0, 9_999) / 10_000;
  return Math.min(most, Math.max(20, Math.round(median * Math.exp(1.1 * sum))));
};

const text = Buffer.from(WORDS.repeat(50_000));

type Request = { body: Buffer; path: string };

const bodyOf = (random: Random, { context, output, lost, speed }: Crowd): Request => {
  const tokens = random.between(...context);
  const fresh = Math.min(tokens / 2, random.between(...FRESH));
  const share = (fresh / tokens).toFixed(4);
  const [read, write] = random.chance(lost) ? [0, 1] : [1 - Number(share), share];
  const wanted = outputFrom(random, output);
  const isMessages = random.chance(0.5);
  const order = `output=${wanted} read=${read} write=${write} pace=${EVENT_MS / speed} chunk=${TOKENS_PER_EVENT}`;
  const head = `{"model":"test/${isMessages ? 'messages' : 'chat'}","stream":true,"max_tokens":${output[1]},"messages":[{"role":"user","content":"`;
  const body = Buffer.concat([
    Buffer.from(head),
    text.subarray(0, Math.floor(tokens / 4) * WORDS.length),
    Buffer.from(`${order}"}]}`),
  ]);
  return { body, path: PATHS[random.between(0, 1)] ?? '' };
};

type Write = {
  UpdateExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, { N?: string }>;
};

/** The attributes that a write changes, with the number that each is set to or raised by. */
const changesOf = ({
  UpdateExpression: update = '',
  ExpressionAttributeNames: names = {},
  ExpressionAttributeValues: values = {},
}: Write): Map<string, number> =>
  new Map(
    Array.from(update.matchAll(/(#\w+) (?:= )?(:\w+)/g), ([, name = '', value = '']) => [
      names[name] ?? '',
      Number(values[value]?.N),
    ]),
  );

const MARK = /^m.{7}$/;
const markIn = (changes: Map<string, number>): string | undefined =>
  [...changes.keys()].find((name) => MARK.test(name));
const roomIn = (changes: Map<string, number>): number | undefined =>
  [...changes].find(([name]) => /^\$[a-z]/.test(name))?.[1];
const has = (changes: Map<string, number>, prefix: string): boolean =>
  [...changes.keys()].some((name) => name.startsWith(prefix));

/** What a write is for that a request without a budget does not have; undefined if that has it, too. */
const kindOf = (key: string, changes: Map<string, number>): Kind | undefined => {
  if (key.startsWith('budget/')) return has(changes, 'g') ? 'grant' : 'transfer';
  if (has(changes, '$-')) return 'recall';
  if (markIn(changes)) return (roomIn(changes) ?? 0) > 0 ? 'return' : 'slice';
  return has(changes, '$+') ? 'transfer' : undefined;
};

/** The writes of budgets: all but one that reserves and one that settles. */
const createWriteWatch = (onReserve: () => void, onExtra: (kind: Kind) => void) => {
  const reserved = new Set<string>();
  return ({ operation, table, key, body }: TableCall): void => {
    if (operation !== 'UpdateItem' || table !== TABLE_NAMES.meters) return;
    const changes = changesOf(JSON.parse(body));
    const mark = markIn(changes);
    if (mark && has(changes, 'r')) {
      onReserve();
      if (reserved.has(mark)) onExtra('reserve again');
      reserved.add(mark);
      return;
    }
    // A settlement counts one request less in flight; a reserve may receive a grant.
    const kind = changes.has('n') ? undefined : kindOf(key, changes);
    if (kind) onExtra(kind);
  };
};

export const startCrowd = async (crowd: Crowd) => {
  const { seed, keys, maxUsd, troubles, speed } = crowd;
  const random = createRandom(seed);
  const provider = await startMeteredProvider();
  const tally: Tally = {
    ...{ attempts: 0, denied: {}, failed: 0, early: 0, reserves: 0, seconds: 0 },
    far: { served: 0, writes: 0, kinds: {} },
    near: { served: 0, writes: 0, kinds: {} },
  };
  const max = maxUsd * 1e9;
  let left = max;
  const phase = (): Phase => (left > NEAR * crowd.context[1] * LEASE_PER_TOKEN ? 'far' : 'near');
  const onReserve = () => {
    tally.reserves += 1;
  };
  const watch = createWriteWatch(onReserve, (kind) => {
    const counts = tally[phase()];
    counts.writes += 1;
    counts.kinds[kind] = (counts.kinds[kind] ?? 0) + 1;
  });
  let isTroubled = troubles > 0;
  const proxies: DynamoProxy[] = [];
  const fleet: Fleet = await startFleet({
    now: Date.now(),
    ...(troubles > 0 && { patience: PATIENCE_MS }),
    skews: PROCESSES,
    local: { catalog: modelsAt(provider.url), secrets: { secret: 'credential' } },
    wayToTables: async (endpoint) => {
      const proxy = await startDynamoProxy(endpoint);
      proxy.decide((call) => {
        watch(call);
        const isHit = isTroubled && call.table === TABLE_NAMES.meters && random.chance(troubles);
        return isHit ? (TROUBLES[random.between(0, TROUBLES.length - 1)] ?? 'none') : 'none';
      });
      proxies.push(proxy);
      return proxy.url;
    },
  });
  let ahead = 0;
  const began = Date.now();
  const now = () => began + (Date.now() - began) * speed + ahead;
  const clock = setInterval(() => fleet.setNow(now()), 20);
  const admin = async (path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${fleet.home.baseUrl}/admin${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.json();
  };
  await admin('/projects', { id: 'crowd' });
  await admin('/plans', { id: 'crowd', rpm: 1_000_000, quota: 1_000_000, period: 'month' });
  const created = await Promise.all(
    Array.from({ length: keys }, () => admin('/projects/crowd/keys', { plan: 'crowd' })),
  );
  const secrets = created.map((key) => (key as { key: string }).key);
  await admin('/projects/crowd/budget', { max_usd: maxUsd, period: 'total' });

  const send = (agent: number, { body, path }: Request): Promise<Response> =>
    fetch(`${fleet.servers[random.between(0, PROCESSES.length - 1)]?.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': secrets[agent % keys] ?? '', 'content-type': 'application/json' },
      body: new Uint8Array(body),
    });

  let served = 0;
  let killing: Promise<void> | undefined;
  const maybeKill = () => {
    served += 1;
    if (crowd.killEvery === 0 || served % crowd.killEvery !== 0 || killing) return;
    killing = fleet.replace(random.between(0, PROCESSES.length - 1)).finally(() => {
      killing = undefined;
    });
  };

  /** One attempt; the milliseconds until the next one, or why there is none. */
  const attempt = async (agent: number, request: Request): Promise<Outcome> => {
    tally.attempts += 1;
    const response = await send(agent, request);
    const text = await response.text();
    const { status, headers } = response;
    left = Number(headers.get('x-budget-remaining') ?? 0) * 1e9;
    if (status === 200) {
      tally[phase()].served += 1;
      maybeKill();
      return 'served';
    }
    tally.denied[status] = (tally.denied[status] ?? 0) + 1;
    if (status === 402) {
      if (provider.billed() < 0.95 * max) tally.early += 1;
      return 'used up';
    }
    if (![408, 429, 503].includes(status)) throw new Error(`${status} ${text}`);
    return Number(headers.get('retry-after-ms') ?? 1_000);
  };

  /** Sends requests until the budget is used up. */
  const work = async (agent: number): Promise<void> => {
    await pause((agent * ARRIVAL_MS) / speed);
    let request = bodyOf(random, crowd);
    let waits = 0;
    while (crowd.killEvery === 0 || waits < MOST_WAITS) {
      const outcome = await attempt(agent, request).catch((error) => {
        // The process was killed.
        if (!(error instanceof TypeError)) throw error;
        tally.failed += 1;
        return KILLED_MS;
      });
      if (outcome === 'used up') return;
      waits = outcome === 'served' ? 0 : waits + 1;
      if (outcome === 'served') request = bodyOf(random, crowd);
      else await pause((outcome / speed) * Math.min(LONGEST_WAIT, 2 ** (waits - 1)));
    }
  };

  return {
    fleet,
    provider,
    max,
    admin,
    tally,
    /** Until the budget is used up for each agent. */
    run: async () => {
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: crowd.agents }, (_, agent) => work(agent)));
      await killing;
      isTroubled = false;
      tally.seconds = Math.round((performance.now() - startedAt) / 1_000);
    },
    /** Moves the clocks of the processes, and lets each key's units of dead processes be reaped. */
    pass: async (ms: number) => {
      ahead += ms;
      await pause(50);
      for (const key of secrets) {
        const headers = { 'x-api-key': key };
        await (await fetch(`${fleet.servers[0]?.url}/v1/usage`, { headers })).text();
      }
    },
    close: async () => {
      clearInterval(clock);
      await fleet.close();
      await Promise.all([...proxies.map((proxy) => proxy.close()), provider.close()]);
    },
  };
};
