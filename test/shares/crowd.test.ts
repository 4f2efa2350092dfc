import { expect, test } from 'vitest';
import * as z from 'zod';
import { SEED } from '../support/seeds.ts';
import { type Crowd, type Result, runCrowd } from './crowd.ts';

const Row = z.object({
  tpm: z.number(),
  seconds: z.number(),
  asks: z.array(z.number()),
  waitMs: z.number(),
  isDeclared: z.boolean(),
  skews: z.array(z.number()),
  killEveryMs: z.number(),
  slowness: z.number().default(1),
});

/** One tenant asks for 150 percent of the quota, three for 20 and six for 5. */
const FLOOD = [150, 20, 20, 20, 5, 5, 5, 5, 5, 5];

/** In `npm test` a few seconds, in slow time: other tests keep the machine busy. */
const SMALL = [
  {
    ...{ tpm: 1_000_000, seconds: 12, asks: FLOOD, waitMs: 5_000, isDeclared: true },
    ...{ skews: [0, 300, -250, 40], killEveryMs: 0, slowness: 3 },
  },
];

/** `SHARE_ROWS` is a list in JSON; `npm run soak:shares` sets it. */
const rows: Crowd[] = z
  .array(Row)
  .parse(process.env.SHARE_ROWS ? JSON.parse(process.env.SHARE_ROWS) : SMALL)
  .map((row) => ({ ...row, seed: SEED }));

const percent = (share: number): string => `${(100 * share).toFixed(1)}`;

const shown = (result: Result): string => {
  const { asked, served, rejected, writes, waitedMs, outcomes, perfect, firstCome } = result;
  const at = (share: number) => waitedMs[Math.floor(share * (waitedMs.length - 1))];
  const fairness = ({ used, nine, worst, jain }: typeof perfect) =>
    `used ${percent(used)}, nine ${percent(nine)}, worst ${percent(worst)}, Jain ${jain.toFixed(3)}`;
  return [
    `${served} of ${asked} served; in percent: ${fairness(result)};`,
    `a perfect scheduler: ${fairness(perfect)}; first come: ${fairness(firstCome)};`,
    `rejected by the provider ${percent(rejected)},`,
    `${writes.toFixed(2)} writes a request, waited ${at(0.5)} and ${at(0.95)} ms,`,
    JSON.stringify(outcomes),
  ].join(' ');
};

test.for(rows)(
  'tenants that ask $asks percent of $tpm tokens a minute share it on four processes, declared: $isDeclared, wait: $waitMs ms',
  { timeout: 3_600_000 },
  async (crowd, { annotate }) => {
    const result = await runCrowd(crowd);
    await annotate(shown(result));
    expect(Object.keys(result.outcomes)).not.toContain('503 without a time');
    if (!crowd.isDeclared) {
      // What happens without shares, to compare.
      expect(result.rejected).toBeGreaterThan(0.1);
      return;
    }
    const { perfect, firstCome } = result;
    if (process.env.SHARE_ROWS === undefined) {
      // Nearer to the perfect scheduler than to what comes of it without shares, and not by sending less.
      expect(result.nine).toBeGreaterThan((2 * perfect.nine + firstCome.nine) / 3);
      expect(result.jain).toBeGreaterThan((2 * perfect.jain + firstCome.jain) / 3);
      expect(result.used).toBeGreaterThan(0.85 * perfect.used);
      expect(result.rejected).toBeLessThan(0.05);
      return;
    }
    const isLight = crowd.asks.reduce((sum, one) => sum + one) < 100;
    expect(result.writes).toBeLessThan(isLight ? 2 : 5);
    expect(result.rejected).toBeLessThan(0.01);
    // Requests of up to 7 percent of a minute wait longer for their turn than 10 s under any scheduler.
    expect(result.nine).toBeGreaterThan(0.97 * perfect.nine - result.ofOne);
    expect(result.used).toBeGreaterThan(0.97 * perfect.used);
    if (isLight || crowd.tpm < 1_000_000) return;
    expect(result.used).toBeGreaterThan(0.97);
    expect(result.nine).toBeGreaterThan(0.86);
    expect(result.worst).toBeGreaterThan(Math.max(0.7, 0.9 * perfect.worst));
    expect(result.jain).toBeGreaterThan(Math.max(0.985, perfect.jain - 0.01));
  },
);
