import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { createRandom } from '../simulation/random.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import {
  CATALOG_PRICES,
  LEAVE_AT,
  type Position,
  promptOf,
  startInvoiceVendor,
} from '../support/invoice-vendor.ts';
import { SEED, share } from '../support/seeds.ts';
import { type DynamoProxy, startDynamoProxy, type Trouble } from './dynamo-proxy.ts';
import { type Fleet, startFleet } from './fleet.ts';

const REQUESTS = Number(process.env.INVOICE_REQUESTS ?? share(500));
const CALLERS = 12;
/** A process is killed and replaced after so many requests. */
const KILL_EVERY = Math.max(40, REQUESTS / 20);
const CREDENTIAL = 'a-credential-of-the-vendors';
const PATHS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'] as const;
const TROUBLES: Trouble[] = ['slow', 'twice', 'lost answer', 'reset', 'throttled', 'late answer'];
const MODELS = 6;

const random = createRandom(SEED);

let vendor: Awaited<ReturnType<typeof startInvoiceVendor>>;
const proxies: DynamoProxy[] = [];
let fleet: Fleet;
let clock: NodeJS.Timeout;

/** Half of the models begin with either protocol and fail over to the other. */
const modelAt = (index: number) => {
  const targetOf = (protocol: 'chat' | 'messages', place: number) => ({
    ...{
      upstream: `vendor-${index}-${place}`,
      protocol,
      model: `${protocol}-${index}`,
      secret: 'vendor',
    },
    baseUrl: protocol === 'chat' ? `${vendor.url}/v1` : vendor.url,
    prices: { currency: 'USD', versions: [CATALOG_PRICES[protocol]] },
  });
  const protocols =
    index % 2 === 0 ? (['messages', 'chat'] as const) : (['chat', 'messages'] as const);
  return {
    ...{ id: `test/model-${index}`, display_name: 'Model', created: 1, owned_by: 'test' },
    ...{ context_length: 1_000_000, max_output_tokens: 10_000, streaming: true, tools: true },
    ...{ vision: true, input_price_per_m: 1, output_price_per_m: 2 },
    targets: protocols.map(targetOf),
  };
};

/** One call in thirty of a table fails, and is repeated; the records' as often as the meters'. */
const troubleOf = (call: { table: string }): Trouble =>
  call.table !== TABLE_NAMES.plans && random.chance(1 / 30)
    ? (TROUBLES[random.between(0, TROUBLES.length - 1)] ?? 'none')
    : 'none';

beforeAll(async () => {
  vendor = await startInvoiceVendor(SEED, CREDENTIAL);
  fleet = await startFleet({
    now: Date.now(),
    skews: [0, 0],
    local: {
      catalog: parseModels(Array.from({ length: MODELS }, (_, index) => modelAt(index))),
      secrets: { vendor: CREDENTIAL },
    },
    wayToTables: async (endpoint) => {
      const proxy = await startDynamoProxy(endpoint);
      proxy.decide(troubleOf);
      proxies.push(proxy);
      return proxy.url;
    },
  });
  clock = setInterval(() => fleet.setNow(Date.now()), 20);
});

afterAll(async () => {
  clearInterval(clock);
  await fleet.close();
  await Promise.all([...proxies.map((proxy) => proxy.close()), vendor.close()]);
});

const traceparentOf = (number: number): string =>
  `00-${String(number + 1).padStart(32, '0')}-${'1'.repeat(16)}-01`;

const bodyOf = (number: number, path: (typeof PATHS)[number], leaves: boolean) => {
  const turns = [{ role: 'user', content: promptOf(number, leaves) }];
  const conversation =
    path === '/v1/responses' ? { input: turns } : { messages: turns, max_tokens: 5_000 };
  const model = `test/model-${random.between(0, MODELS - 1)}`;
  return JSON.stringify({ model, stream: leaves || random.chance(0.6), ...conversation });
};

/** Sends one request; its caller leaves when the marked text has arrived, or reads to the end. */
const ask = async (number: number, key: string): Promise<void> => {
  const leaves = random.chance(0.05);
  const path = PATHS[random.between(0, PATHS.length - 1)] ?? PATHS[0];
  const leaving = new AbortController();
  let text = '';
  try {
    const response = await fetch(`${fleet.servers[number % 2]?.url}${path}`, {
      method: 'POST',
      headers: {
        ...{ 'x-api-key': key, 'content-type': 'application/json' },
        traceparent: traceparentOf(number),
      },
      body: bodyOf(number, path, leaves),
      signal: leaving.signal,
    });
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (leaves && text.includes(LEAVE_AT)) leaving.abort();
    }
  } catch {
    // The caller left, or the process was killed.
  }
};

/** Returns how many processes were killed. */
const run = async (): Promise<number> => {
  const key = await fleet.createKey({ plan: { rpm: 1_000_000, quota: 1_000_000 } });
  let kills = 0;
  let next = 0;
  const caller = async () => {
    while (next < REQUESTS) {
      const number = next;
      next += 1;
      if (number > 0 && number % KILL_EVERY === 0) {
        await fleet.replace(random.between(0, 1));
        kills += 1;
      }
      await ask(number, key);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return kills;
};

const Line = z.looseObject({
  id: z.string(),
  cost_usd: z.string(),
  cost_source: z.string().optional(),
  cost_incomplete: z.string().optional(),
  traceparent: z.string().nullable(),
});
type Line = z.infer<typeof Line>;
const Page = z.looseObject({ data: z.array(Line), next_cursor: z.string().nullable() });

const admin = async (path: string): Promise<unknown> =>
  (await fetch(`${fleet.home.baseUrl}/admin${path}`)).json();

/** All records by the number of their request. */
const readRecords = async (): Promise<Map<number, Line>> => {
  const records = new Map<number, Line>();
  const from = new Date(Date.now() - 3_600_000).toISOString();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = Page.parse(await admin(`/exports/ndjson?from=${from}${query}`));
    for (const line of page.data) records.set(Number(line.traceparent?.slice(3, 35)) - 1, line);
    cursor = page.next_cursor;
  }
  return records;
};

/** The records of the last seconds are exported once they are settled. */
const settledRecords = async (): Promise<Map<number, Line>> => {
  let records = new Map<number, Line>();
  for (let before = -1; before !== records.size || before === 0; ) {
    before = records.size;
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    records = await readRecords();
  }
  return records;
};

const nanosOf = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
};

const roundedNanos = (picos: bigint): bigint => (picos + 500n) / 1_000n;

const byNumber = (invoice: Position[]): Map<number, Position[]> => {
  const positions = new Map<number, Position[]>();
  for (const position of invoice)
    positions.set(position.number, [...(positions.get(position.number) ?? []), position]);
  return positions;
};

const namesIn = (text = ''): string[] => text.split(' ').filter(Boolean).toSorted();

const Total = z.looseObject({
  total: z.looseObject({
    cost_usd: z.number(),
    cost_estimated_usd: z.number(),
    incomplete_requests: z.number(),
    charged: z.number(),
  }),
});

type Compared = {
  as: 'equal' | 'incomplete' | 'uncounted' | 'free';
  difference?: object | undefined;
};

/** How the record of a request and its positions of the invoice compare. */
const compare = (record: Line, positions: Position[]): Compared => {
  const unpriced = [...new Set(positions.flatMap((position) => position.unpriced))].toSorted();
  const incomplete = namesIn(record.cost_incomplete);
  const about = { record, positions };
  if (incomplete.join() !== unpriced.join()) return { as: 'incomplete', difference: about };
  if (positions.some(({ isCounted }) => !isCounted)) {
    const isMarked = record.cost_source === 'estimated';
    return { as: 'uncounted', difference: isMarked ? undefined : about };
  }
  if (unpriced.length > 0) return { as: 'incomplete' };
  const expected = positions.reduce((sum, { picos }) => sum + roundedNanos(picos), 0n);
  const difference = nanosOf(record.cost_usd) === expected ? undefined : about;
  return { as: positions.length === 0 ? 'free' : 'equal', difference };
};

const compareAll = (records: Map<number, Line>) => {
  const billed = byNumber(vendor.invoice);
  const counts = { equal: 0, incomplete: 0, uncounted: 0, free: 0, missing: 0 };
  const different: object[] = [];
  let [ours, theirs] = [0n, 0n];
  for (let number = 0; number < REQUESTS; number += 1) {
    const record = records.get(number);
    const positions = billed.get(number) ?? [];
    if (!record) {
      counts.missing += positions.length > 0 ? 1 : 0;
      continue;
    }
    const { as, difference } = compare(record, positions);
    counts[as] += 1;
    if (difference) different.push(difference);
    if (as !== 'equal') continue;
    ours += nanosOf(record.cost_usd);
    theirs += positions.reduce((sum, { picos }) => sum + picos, 0n);
  }
  return { counts, different, ours, theirs };
};

test(
  'the statement is the invoice of the vendors, and marks exactly what it cannot price, after killed processes and failing tables',
  async ({ annotate }) => {
    const kills = await run();
    for (const proxy of proxies) proxy.decide(() => 'none');
    const records = await settledRecords();
    const { counts, different, ours, theirs } = compareAll(records);
    const lostInLog = fleet.lines.filter(({ event }) => event === 'record_write_failed').length;
    expect(different.slice(0, 5)).toEqual([]);
    // To the cent; each request is rounded to a billionth of a dollar.
    const cents = (nanos: bigint) => (nanos + 5_000_000n) / 10_000_000n;
    expect(cents(ours)).toBe(cents(theirs / 1_000n));
    const all = [...records.values()].reduce((sum, { cost_usd }) => sum + nanosOf(cost_usd), 0n);
    const readTotal = async () => Total.parse(await admin('/usage?by=project')).total;
    const costs = async () => BigInt(Math.round((await readTotal()).cost_usd * 1e9));
    await expect.poll(costs, { timeout: 60_000, interval: 500 }).toBe(all);
    const total = await readTotal();
    const marked = [...records.values()].filter(({ cost_incomplete: names }) => names);
    expect(total.incomplete_requests).toBe(marked.length);
    expect(counts.equal).toBeGreaterThan(REQUESTS / 2);
    // Of killed processes, those in flight and those whose records were being written; other lost records are logged.
    expect(counts.missing).toBeLessThanOrEqual(lostInLog + 2 * CALLERS * kills);
    expect(vendor.rejected).toEqual([]);
    const dollars = (Number(theirs / 1_000_000n) / 1e6).toFixed(2);
    await annotate(
      `${REQUESTS} requests, $${dollars}: ${JSON.stringify({ ...counts, lostInLog })}`,
    );
  },
  Math.max(600_000, REQUESTS * 100),
);
