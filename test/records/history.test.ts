import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type Fleet, startFleet } from '../metering/fleet.ts';
import { generate, type Outcome } from '../metering/ledger.ts';
import { readOpenMetrics, totalOf } from '../metrics/read-open-metrics.ts';
import { createRandom } from '../simulation/random.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { runCli } from '../support/run-cli.ts';
import { SEED } from '../support/seeds.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;
/** A period is closed within its next hour. */
const MIDNIGHT = Math.floor((Date.now() - 60 * MINUTE) / DAY) * DAY - DAY;
/** Late on the day before: both days are closed by the clock of the machine. */
const START = MIDNIGHT - 10 * MINUTE;
const CALLERS = 8;
const MODELS = ['test/answers', 'test/dawdles', 'test/breaks', 'test/refuses'];

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({ now: START, skews: [0, 0, 0] });
});
afterAll(() => fleet.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const countOf = (outcomes: Outcome[], wanted: Outcome): number =>
  outcomes.filter((outcome) => outcome === wanted).length;

/** Charged requests of a day: fewer would prove little. */
const LEAST = 6;

/** Traffic of one key while servers are killed, for as long as the machine takes for enough of it. */
const traffic = async (key: string, random: ReturnType<typeof createRandom>, kills: number) => {
  const outcomes: Outcome[] = [];
  let isOver = false;
  const caller = async () => {
    while (!isOver) {
      const url = fleet.servers[random.between(0, 2)]?.url ?? '';
      const model = MODELS[random.between(0, MODELS.length - 1)] ?? '';
      const path = random.chance(0.5) ? '/v1/messages' : '/v1/chat/completions';
      outcomes.push(await generate(url, { key, path, model, stream: random.chance(0.6) }));
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  for (let kill = 0; kill < kills; kill += 1) {
    await pause(random.between(0, 150));
    await fleet.replace(random.between(0, 2));
  }
  await pause(150);
  await expect.poll(() => countOf(outcomes, 'charged')).toBeGreaterThanOrEqual(LEAST);
  isOver = true;
  await Promise.all(callers);
  return outcomes;
};

/** The counters of all meters by their period, read from the table itself. */
const metered = async (): Promise<Record<string, number>> => {
  const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint: fleet.home.endpoints.dynamo });
  const { Items = [] } = await client.send(
    new ScanCommand({ TableName: TABLE_NAMES.meters, ConsistentRead: true }),
  );
  client.destroy();
  const counts: Record<string, number> = {};
  for (const [name, value] of Items.flatMap((item) => Object.entries(item))) {
    if (!/^q\d{4}-/.test(name)) continue;
    const period = name.slice(1);
    counts[period] = (counts[period] ?? 0) + Number(value.N);
  }
  return counts;
};

const reapedAt = async (now: number, key: string): Promise<void> => {
  fleet.setNow(now);
  await pause(50);
  await fetch(`${fleet.servers[0]?.url}/v1/usage`, { headers: { 'x-api-key': key } });
};

const cli = async (...args: string[]): Promise<string> => {
  const { code, out, err } = await runCli([...args, '--url', fleet.home.baseUrl]);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return out;
};

/** Sums a column of a CSV by another, as a reader who knows only the CSV would. */
const sumsIn = (csv: string, by: string, column: string): Record<string, number> => {
  const [head = '', ...lines] = csv.trimEnd().split('\r\n');
  const names = head.split(',');
  const sums: Record<string, number> = {};
  for (const cells of lines.map((line) => line.split(','))) {
    const name = cells[names.indexOf(by)] ?? '';
    sums[name] = (sums[name] ?? 0) + Number(cells[names.indexOf(column)]);
  }
  return sums;
};

const dayOf = (instant: number) => new Date(instant).toISOString().slice(0, 10);
const [FIRST, SECOND] = [dayOf(START), dayOf(MIDNIGHT)];

test('the CSV of two days with faults and killed servers sums up to the meter, to the unit', async ({
  annotate,
}) => {
  const random = createRandom(SEED);
  const plan = { rpm: 1_000_000, quota: 1_000_000, period: 'day' } as const;
  const key = await fleet.createKey({ plan });
  const before = await traffic(key, random, 2);
  fleet.setNow(MIDNIGHT + MINUTE);
  await pause(50);
  const after = await traffic(key, random, 1);
  await reapedAt(MIDNIGHT + 25 * MINUTE, key);
  const counted = await metered();
  // A read does not wait for a run, which on AWS is hourly.
  await cli('reconcile');

  const range = ['--since', FIRST, '--until', dayOf(MIDNIGHT + DAY)];
  const csv = await cli('usage', ...range, '--csv');
  const exported = sumsIn(csv, 'day', 'charged');
  await annotate(JSON.stringify({ seed: SEED, counted, exported }));
  expect(exported).toEqual({ [FIRST]: counted[FIRST], [SECOND]: counted[SECOND] });

  for (const [day, outcomes] of [
    [FIRST, before],
    [SECOND, after],
  ] as const) {
    const charged = countOf(outcomes, 'charged');
    // A server that was killed between the charge and the end of its stream leaves a broken one that is charged.
    const maybe = countOf(outcomes, 'unknown') + countOf(outcomes, 'broken');
    expect(charged).toBeGreaterThanOrEqual(LEAST);
    expect(exported[day]).toBeGreaterThanOrEqual(charged);
    expect(exported[day]).toBeLessThanOrEqual(charged + maybe);
  }
  // Requests whose server was killed have no record; every other one has.
  const byModel = sumsIn(csv, 'model', 'charged');
  const unrecorded = Math.abs(byModel['(unrecorded)'] ?? 0);
  expect(unrecorded).toBeLessThanOrEqual(3 * CALLERS);
  expect(byModel['test/answers']).toBeGreaterThan(0);

  // The metrics agree: their counters and what no record shows are the meters' units.
  const scrape = await fetch(`${fleet.home.baseUrl}/admin/metrics`);
  const families = readOpenMetrics(await scrape.text());
  const inRecords = totalOf(families, 'model_router_requests_total', { outcome: 'charged' });
  const inNone = totalOf(families, 'model_router_unrecorded_units');
  const units = Object.values(counted).reduce((sum, count) => sum + count, 0);
  await annotate(JSON.stringify({ inRecords, inNone, units }));
  expect(inRecords + inNone).toBe(units);
  expect(inNone).toBe(byModel['(unrecorded)'] ?? 0);
  expect(totalOf(families, 'model_router_duration_seconds_count')).toBe(
    inRecords + totalOf(families, 'model_router_requests_total', { outcome: 'refunded' }),
  );

  // The counters have moved: the meter has forgotten both days, and a second run changes nothing.
  expect(await metered()).toEqual({});
  expect(await cli('usage', ...range, '--csv')).toBe(csv);
  const rows = z
    .object({
      data: z.array(z.object({ period: z.string(), used: z.number(), recorded: z.number() })),
    })
    .parse(JSON.parse(await cli('reconcile', '--json')));
  const moved = Object.fromEntries(rows.data.map(({ period, used }) => [period, used]));
  expect(moved).toEqual(counted);
});
