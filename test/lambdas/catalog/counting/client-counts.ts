/**
 * Requests that clients sent in sessions of 25 steps, without a word of them: of each the ten numbers of its estimate and what the
 * vendors' templates and tokenizers count (true_counts.py). No weight and no framing was fitted to them.
 */
import { readFileSync } from 'node:fs';
import {
  countingOf,
  estimateTexts,
  framedTokens,
} from '../../../../lambdas/catalog/estimate-tokens.ts';
import { TOKEN_SAMPLES } from '../token-samples.ts';
import { CHECKED, shareWithin } from './score.ts';

export type Measured = {
  /** How texts are read: other weights give other counts, which are to be measured again. */
  samples: number[];
  families: string[];
  clients: {
    client: string;
    version: string;
    endpoint: string;
    /** By family. */
    requests: { tokens: number[]; counts: number[][] }[];
  }[];
};

export const readMeasured = (): Measured =>
  JSON.parse(readFileSync(new URL('client-counts.json', import.meta.url), 'utf8'));

/**
 * Tokens of known texts, by family: they change with its weights, the automaton, and how long texts are sampled. By less than one
 * in a thousand with the order in which a process meets the families (text-reader.ts sums up rows with weights).
 */
export const readSamples = (): number[] => {
  const texts = TOKEN_SAMPLES.map(({ text }) => text);
  return Object.values(CHECKED).flatMap((model) => {
    const { weights } = countingOf({ model });
    const long = estimateTexts([texts.join('\n').repeat(20)], weights);
    return [...texts.map((text) => estimateTexts([text], weights)), long].map(
      (tokens) => Math.round(tokens * 10) / 10,
    );
  });
};

type Requests = Measured['clients'][number]['requests'];

/** Signed errors of the estimates of one family. */
const errorsOf = (requests: Requests, index: number): number[] => {
  const { framing } = countingOf({ model: Object.values(CHECKED)[index] ?? '' });
  return requests.map(({ tokens, counts }) => {
    const estimate = Math.max(1, Math.ceil(framedTokens(framing, counts[index] ?? [])));
    return estimate / (tokens[index] ?? 1) - 1;
  });
};

export const medianOf = (values: number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
const signed = (error: number): string => {
  const percent = (100 * error).toFixed(1);
  if (Number(percent) === 0) return '0.0';
  return error > 0 ? `+${percent}` : percent;
};

/** The rows of the table of decision 5: how many requests are within 5 %, and the median error. */
export const rowsOf = ({ clients, families }: Measured): string[] => {
  const rowOf = (name: string, cells: string[]) => `| ${[name, ...cells].join(' | ')} |`;
  const rows = clients.map(({ client, version, endpoint, requests }) =>
    rowOf(
      `${client} ${version}, ${endpoint}`,
      families.map((_, index) => {
        const errors = errorsOf(requests, index);
        return `${errors.filter((error) => Math.abs(error) <= 0.05).length}, ${signed(medianOf(errors))}`;
      }),
    ),
  );
  const all = clients.flatMap(({ requests }) => requests);
  const shares = families.map(
    (_, index) => `${Math.round(100 * shareWithin(errorsOf(all, index), 0.05))} %`,
  );
  return [...rows, rowOf(`all, of ${all.length}`, shares)];
};
