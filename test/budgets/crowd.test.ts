import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { checksAll, SEED } from '../support/seeds.ts';
import { type Crowd, startCrowd, type Tally } from './crowd.ts';

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
  { agents: 20, keys: 4, maxUsd: 1, lost: 0.1, killEvery: 15, troubles: 0.03, speed: 10 },
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

const Budget = z.object({ spent_usd: z.number(), leased_usd: z.number() });
const Page = z.looseObject({
  data: z.array(z.looseObject({ cost_usd: z.string() })),
  next_cursor: z.string().nullable(),
});

const nanosOf = (dollars: number | string): number => Math.round(Number(dollars) * 1e9);

type Started = Awaited<ReturnType<typeof startCrowd>>;

const readBudget = async ({ admin }: Started) => {
  const { spent_usd, leased_usd } = Budget.parse(await admin('/projects/crowd/budget'));
  return { spent: nanosOf(spent_usd), leased: nanosOf(leased_usd) };
};

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

const perRequest = ({ writes, served }: Tally['far']): string =>
  served === 0 ? '-' : (writes / served).toFixed(2);

const shown = ({ agents, keys, maxUsd, lost }: Crowd, billed: number, tally: Tally): string => {
  const { attempts, early, far, near, denied, failed, seconds } = tally;
  return [
    `${agents} agents, ${keys} keys, $${maxUsd}, ${lost * 100} percent lost:`,
    `billed $${(billed / 1e9).toFixed(4)}, over $${Math.max(0, billed / 1e9 - maxUsd).toFixed(4)},`,
    `402 before 95 percent ${((100 * early) / attempts).toFixed(2)} percent of ${attempts} attempts,`,
    `extra writes a response far ${perRequest(far)} of ${far.served}, near ${perRequest(near)} of ${near.served}, reserves an attempt ${(tally.reserves / attempts).toFixed(2)},`,
    `kinds far ${JSON.stringify(far.kinds)}, near ${JSON.stringify(near.kinds)},`,
    `denied ${JSON.stringify(denied)}, failed ${failed}, ${seconds} s`,
  ].join(' ');
};

test.each(rows())(
  '$agents agents on four processes spend a budget of $maxUsd dollars to its end and no nano-dollar more, lost caches: $lost, kill -9 after each $killEvery responses, failing calls of tables: $troubles',
  async (row) => {
    const crowd = await startCrowd(row);
    onTestFinished(crowd.close);
    await crowd.run();
    const { provider, tally, max } = crowd;
    await expect.poll(() => provider.invoices.every(({ isOver }) => isOver)).toBe(true);
    const billed = provider.billed();
    process.stdout.write(`${shown(row, billed, tally)}\n`);
    expect(billed).toBeLessThanOrEqual(max);
    const isCalm = row.killEvery === 0 && row.troubles === 0;
    if (isCalm) {
      expect(billed).toBeGreaterThan(0.9 * max);
      expect(tally.early / tally.attempts).toBeLessThanOrEqual(0.02);
      await expect.poll(async () => (await readBudget(crowd)).leased).toBe(0);
    }
    const enforced = await readBudget(crowd);
    expect(enforced.spent + enforced.leased).toBeGreaterThanOrEqual(billed);
    expect(enforced.spent + enforced.leased).toBeLessThanOrEqual(max);
    // What processes that died have leased is spent once their units are refunded.
    await crowd.pass(18 * 60_000);
    const settled = await readBudget(crowd);
    expect(settled).toEqual({ spent: enforced.spent + enforced.leased, leased: 0 });
    if (isCalm) {
      await expect
        .poll(() => sumOfRecords(crowd), { timeout: 30_000, interval: 1_000 })
        .toBe(settled.spent);
    }
  },
  1_200_000,
);
