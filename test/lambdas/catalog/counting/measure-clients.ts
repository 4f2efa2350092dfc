/** Prints client-counts.json, of recorded requests and their true counts: true_counts.py says how. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countingOf, countPrompt } from '../../../../lambdas/catalog/estimate-tokens.ts';
import { partsOf } from '../../../../lambdas/catalog/request-parts.ts';
import { callerProtocols } from '../../../../lambdas/protocols/protocols.ts';
import { type Measured, readSamples } from './client-counts.ts';
import { CHECKED } from './score.ts';

type Recorded = {
  client: string;
  version: string;
  endpoint: keyof typeof callerProtocols;
  asked: object[];
};

/** Of each session, evenly. */
const REQUESTS = 7;
const FAMILIES = Object.entries(CHECKED);

const measure = (endpoint: Recorded['endpoint'], body: object): number[][] => {
  const parts = partsOf(callerProtocols[endpoint].decodeRequest(body));
  return FAMILIES.map(([, model]) =>
    countPrompt(parts, countingOf({ model })).map((count) => Math.round(count * 10) / 10),
  );
};

const [folder = '', truth = ''] = process.argv.slice(2);
const truths: Record<string, Record<string, number>[]> = JSON.parse(readFileSync(truth, 'utf8'));
const clients = Object.entries(truths).map(([file, counted]): Measured['clients'][number] => {
  const { client, version, endpoint, asked }: Recorded = JSON.parse(
    readFileSync(join(folder, file), 'utf8'),
  );
  const requests = asked
    .filter((_, index) => index % Math.ceil(asked.length / REQUESTS) === 0)
    .map((body, index) => ({
      tokens: FAMILIES.map(([family]) => counted[index]?.[family] ?? 0),
      counts: measure(endpoint, body),
    }));
  return { client, version, endpoint, requests };
});
const measured: Measured = { samples: readSamples(), families: Object.keys(CHECKED), clients };
process.stdout.write(`${JSON.stringify(measured)}\n`);
