/**
 * CPU of estimating a prompt's tokens, which comes before every upstream call: with samples, against reading
 * it whole. Run it with `npm run bench:estimate`; ratios hold on any machine, milliseconds do not.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { countText } from '../lambdas/catalog/estimate-tokens.ts';
import { tokensOfText } from '../lambdas/catalog/tokens-of-text.ts';
import { median } from './median.ts';

const ROUNDS = 9;
const SIZES = [100_000, 400_000, 1_500_000, 5_000_000];

const folder = new URL('../lambdas/', import.meta.url);
const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n');

const ofLength = (characters: number): string =>
  code.repeat(Math.ceil(characters / code.length)).slice(0, characters);

const millisecondsOf = (count: () => number): number =>
  median(
    Array.from({ length: ROUNDS }, () => {
      const from = performance.now();
      count();
      return performance.now() - from;
    }),
  );

const rows = SIZES.map((characters) => {
  const text = ofLength(characters);
  const whole = millisecondsOf(() => tokensOfText(text));
  const sampled = millisecondsOf(() => countText([text]));
  return {
    characters,
    'whole, ms': whole.toFixed(1),
    'as done, ms': sampled.toFixed(1),
    'times faster': (whole / sampled).toFixed(1),
    'differs by, %': (100 * (countText([text]) / tokensOfText(text) - 1)).toFixed(2),
  };
});
console.table(rows);
