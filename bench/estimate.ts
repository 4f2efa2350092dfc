/**
 * The estimate of input tokens: its errors by family of tokenizers on the checking set (decision 5), and its CPU
 * against `JSON.parse` of the same body. Run it with `npm run bench:estimate`; ratios hold on any machine,
 * milliseconds do not.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { partsOf } from '../lambdas/catalog/request-parts.ts';
import { callerProtocols } from '../lambdas/protocols/protocols.ts';
import { CHECKED, createScore, shareWithin } from '../test/lambdas/catalog/counting/score.ts';
import { median } from './median.ts';

const ROUNDS = 15;
const SIZES = [30_000, 130_000, 500_000, 1_500_000, 5_000_000];

const percent = (share: number): string => `${Math.round(100 * share)} %`;
const size = (errors: number[]): string => `${(100 * median(errors.map(Math.abs))).toFixed(1)} %`;

const score = createScore();
console.table(
  Object.fromEntries(
    Object.keys(CHECKED).map((family) => {
      const { requests, documents } = score(family);
      return [
        family,
        {
          requests: requests.length,
          'within 5 %': percent(shareWithin(requests, 0.05)),
          'median error': size(requests),
          documents: documents.length,
          'within 10 %': percent(shareWithin(documents, 0.1)),
          'median error ': size(documents),
        },
      ];
    }),
  ),
);

const folder = new URL('../lambdas/', import.meta.url);
const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n');

/** A conversation of messages of 700 characters. */
const bodyOf = (characters: number): string => {
  const text = code.repeat(Math.ceil(characters / code.length)).slice(0, characters);
  const messages = (text.match(/.{1,700}/gs) ?? []).map((content) => ({ role: 'user', content }));
  return JSON.stringify({ model: 'vendor/model', messages });
};

const millisecondsOf = (run: () => unknown): number =>
  median(
    Array.from({ length: ROUNDS }, () => {
      const from = performance.now();
      run();
      return performance.now() - from;
    }),
  );

console.table(
  SIZES.map((characters) => {
    const body = bodyOf(characters);
    const request = callerProtocols.chat.decodeRequest(JSON.parse(body));
    const parse = millisecondsOf(() => JSON.parse(body));
    const estimate = millisecondsOf(() => partsOf(request));
    return {
      characters,
      'JSON.parse, ms': parse.toFixed(2),
      'estimate, ms': estimate.toFixed(2),
      ratio: (estimate / parse).toFixed(1),
    };
  }),
);
