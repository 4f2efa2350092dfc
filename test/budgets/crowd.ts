import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { type DynamoProxy, startDynamoProxy, type Trouble } from '../metering/dynamo-proxy.ts';
import { type Fleet, startFleet } from '../metering/fleet.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { modelsAt } from './lab.ts';
import { startMeteredProvider } from './metered-provider.ts';
import { type CrowdSize, createTally, promptFrom } from './tally.ts';

/** Agents that share one budget, each with one request after another until the budget is used up; of $0 there is none, and each has one. */
export type Crowd = CrowdSize & {
  seed: number;
  /** Tokens of the prompts. */
  context: [number, number];
  /** Median and upper bound of the tokens of output. */
  output: [number, number];
  /** Kills a process after so many responses; 0 for none. */
  killEvery: number;
  /** Share of the calls of the tables that fail. */
  troubles: number;
  /** Seconds of agents, provider and the processes' clocks that pass in one. */
  speed: number;
};

const PROCESSES = [0, 300, -250, 40];
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
/** Nanos of a budget in a meter's item: received, returned, or left of them. */
const NANOS = /"\$([+-]?)[^"]*":\{"N":"(\d+)"/g;

const usedIn = (answer: string): number => {
  let sum = 0;
  for (const [, plus, nanos] of answer.matchAll(NANOS))
    sum += (plus === '+' ? 1 : -1) * Number(nanos);
  return sum;
};

const Budget = z.object({ spent_usd: z.number(), leased_usd: z.number() });
export const nanosOf = (dollars: number | string): number => Math.round(Number(dollars) * 1e9);

type Outcome = 'served' | 'used up' | number;

const text = Buffer.from(WORDS.repeat(50_000));

type Request = { body: Buffer; path: string };

const bodyOf = (random: Random, crowd: Crowd): Request => {
  const { output, speed } = crowd;
  const { tokens, fresh, isLost, wanted, isMessages } = promptFrom(random, crowd);
  const share = (fresh / tokens).toFixed(4);
  const [read, write] = isLost ? [0, 1] : [1 - Number(share), share];
  const order = `output=${wanted} read=${read} write=${write} pace=${EVENT_MS / speed} chunk=${TOKENS_PER_EVENT}`;
  const head = `{"model":"test/${isMessages ? 'messages' : 'chat'}","stream":true,"max_tokens":${output[1]},"messages":[{"role":"user","content":"`;
  const body = Buffer.concat([
    Buffer.from(head),
    text.subarray(0, Math.floor(tokens / 4) * WORDS.length),
    Buffer.from(`${order}"}]}`),
  ]);
  return { body, path: PATHS[random.between(0, 1)] ?? '' };
};

export const startCrowd = async (crowd: Crowd) => {
  const { seed, keys, maxUsd, troubles, speed } = crowd;
  const random = createRandom(seed);
  const provider = await startMeteredProvider();
  const max = maxUsd * 1e9;
  /** By item of a meter, what is spent or leased. */
  const used = new Map<string, number>();
  const { tally, phase, watch, denied } = createTally(max || Number.POSITIVE_INFINITY, () =>
    [...used.values()].reduce((sum, nanos) => sum + nanos, 0),
  );
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
        if (call.operation === 'UpdateItem' && call.table === TABLE_NAMES.meters) {
          watch(call.key, JSON.parse(call.body));
        }
        const isHit = isTroubled && call.table === TABLE_NAMES.meters && random.chance(troubles);
        return isHit ? (TROUBLES[random.between(0, TROUBLES.length - 1)] ?? 'none') : 'none';
      });
      proxy.watch(({ operation, table, key }, body) => {
        const answer = operation === 'UpdateItem' && table === TABLE_NAMES.meters ? `${body}` : '';
        if (answer.includes('"Attributes"')) used.set(key, usedIn(answer));
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
  if (max > 0) await admin('/projects/crowd/budget', { max_usd: maxUsd, period: 'total' });

  const readBudget = async () => {
    const { spent_usd, leased_usd } = Budget.parse(await admin('/projects/crowd/budget'));
    return { spent: nanosOf(spent_usd), leased: nanosOf(leased_usd) };
  };

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
    const counts = phase();
    const response = await send(agent, request);
    const text = await response.text();
    const { status, headers } = response;
    if (status === 200) {
      counts.served += 1;
      maybeKill();
      return 'served';
    }
    denied(status, provider.billed());
    if (status === 402) return 'used up';
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
      if (outcome === 'used up' || (outcome === 'served' && max === 0)) return;
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
    readBudget,
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
