import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { checksAll, SEED } from '../support/seeds.ts';
import { type Crowd, nanosOf, startCrowd } from './crowd.ts';
import { shown } from './tally.ts';

const Row = z.object({
  agents: z.number(),
  keys: z.number(),
  maxUsd: z.number(),
  lost: z.number(),
  killEvery: z.number(),
  troubles: z.number(),
});

/** In `npm test` shorter prompts and responses, and fewer dollars. Records of the future, as a speed makes them, are not exported. */
const SMALL: Crowd[] = [
  { agents: 20, keys: 1, maxUsd: 1, lost: 0.1, killEvery: 0, troubles: 0, speed: 1 },
  { agents: 10, keys: 4, maxUsd: 0.5, lost: 0.1, killEvery: 15, troubles: 0.03, speed: 10 },
]
  .slice(checksAll ? 0 : 1)
  .map((row) => ({ ...row, seed: SEED, context: [500, 6_000], output: [60, 300] }));

/** `BUDGET_ROWS` is a list in JSON; `npm run soak:budget` sets it. */
const rows = (): Crowd[] => {
  const given = process.env.BUDGET_ROWS;
  if (given === undefined) return SMALL;
  return z
    .array(Row)
    .parse(JSON.parse(given))
    .map((row) => ({
      ...row,
      seed: SEED,
      context: [20_000, 200_000],
      output: [330, 8_000],
      speed: 1,
    }));
};

const Page = z.looseObject({
  data: z.array(z.looseObject({ cost_usd: z.string() })),
  next_cursor: z.string().nullable(),
});

type Started = Awaited<ReturnType<typeof startCrowd>>;

/** The cost of all records. */
const sumOfRecords = async ({ admin }: Started): Promise<number> => {
  let sum = 0;
  const from = new Date(Date.now() - 3_600_000).toISOString();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = Page.parse(await admin(`/exports/ndjson?from=${from}${query}`));
    for (const { cost_usd } of page.data) sum += nanosOf(cost_usd);
    cursor = page.next_cursor;
  }
  return sum;
};

const isPlain = ({ maxUsd }: Crowd): boolean => maxUsd === 0;

// What a new meter costs anyway: it repeats reserves while it gets shards for a crowd.
test.each(rows().filter(isPlain))(
  '$agents agents without a budget have a response each',
  async (row) => {
    const crowd = await startCrowd(row);
    onTestFinished(crowd.close);
    await crowd.run();
    process.stdout.write(`${shown(row, crowd.provider.billed(), crowd.tally)}\n`);
    expect(crowd.tally.far.served).toBe(row.agents);
  },
  1_200_000,
);

test.each(rows().filter((row) => !isPlain(row)))(
  '$agents agents on four processes spend a budget of $maxUsd dollars to its end and no nano-dollar more, lost caches: $lost, kill -9 after each $killEvery responses, failing calls of tables: $troubles',
  async (row) => {
    const crowd = await startCrowd(row);
    onTestFinished(crowd.close);
    await crowd.run();
    const { provider, tally, max, readBudget } = crowd;
    await expect.poll(() => provider.invoices.every(({ isOver }) => isOver)).toBe(true);
    const billed = provider.billed();
    process.stdout.write(`${shown(row, billed, tally)}\n`);
    expect(billed).toBeLessThanOrEqual(max);
    const isCalm = row.killEvery === 0 && row.troubles === 0;
    if (isCalm) {
      expect(billed).toBeGreaterThan(0.9 * max);
      expect(tally.early / tally.attempts).toBeLessThanOrEqual(0.02);
      await expect.poll(async () => (await readBudget()).leased).toBe(0);
    }
    const enforced = await readBudget();
    expect(enforced.spent + enforced.leased).toBeGreaterThanOrEqual(billed);
    expect(enforced.spent + enforced.leased).toBeLessThanOrEqual(max);
    // What processes that died have leased is spent once their units are refunded; a settlement may return some until then.
    const leasedAfter = async (ms: number): Promise<number> => {
      await crowd.pass(ms);
      return (await readBudget()).leased;
    };
    await expect.poll(() => leasedAfter(18 * 60_000), { timeout: 60_000 }).toBe(0);
    const settled = await readBudget();
    expect(settled.spent).toBeGreaterThanOrEqual(Math.max(billed, enforced.spent));
    expect(settled.spent).toBeLessThanOrEqual(enforced.spent + enforced.leased);
    if (isCalm) {
      await expect
        .poll(() => sumOfRecords(crowd), { timeout: 30_000, interval: 1_000 })
        .toBe(settled.spent);
    }
  },
  1_200_000,
);
