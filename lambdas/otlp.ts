import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { readEndpoint } from './aws/endpoint.ts';
import { bundledModels } from './catalog/bundled-models.ts';
import { OTLP_HEADERS, otlpEnv, readEnv } from './env.ts';
import { addressesIn } from './otlp/address-of.ts';
import { createExporter, type Entry } from './otlp/exporter.ts';
import { createPost, readHeaders } from './otlp/post.ts';
import type { RefusedRequest, RequestRecord } from './stores/record-store.ts';
import { systemClock } from './support/clock.ts';
import { createLog } from './support/log.ts';
import { SORT_KEY } from './tables.ts';
import { openUpstreamSecrets } from './upstreams/secrets-manager.ts';

/** What a stream of DynamoDB says of an item: how a text and a number are written. */
type Image = Record<string, { S?: string; N?: string }>;

/** An event of the stream of the table of records. */
export type StreamEvent = {
  Records: {
    eventName?: string;
    dynamodb?: { SequenceNumber?: string; Keys?: Image; NewImage?: Image };
  }[];
};

/** Partitions of a project's day that hold no requests which took a unit end in these names (record-store.ts). */
const REFUSED = '|refused';
const PARTS = '|parts';
const REQUEST = 'req_';

/** What is exported of an item of the table; undefined: nothing, as of hashes, counts of refusals and items that expire. */
export const entryOf = ({ dynamodb = {} }: StreamEvent['Records'][number]): Entry | undefined => {
  const { Keys: keys = {}, NewImage: image } = dynamodb;
  const text = image?.entry?.S;
  const partition = Object.entries(keys).find(([name]) => name !== SORT_KEY)?.[1].S ?? '';
  if (text === undefined || !keys[SORT_KEY]?.S?.startsWith(REQUEST)) return undefined;
  if (partition.endsWith(PARTS)) return undefined;
  if (partition.endsWith(REFUSED)) return { refused: JSON.parse(text) as RefusedRequest };
  const isFirst = image?.revision?.N === '1';
  return { record: JSON.parse(text) as RequestRecord, isFirst };
};

const env = readEnv(otlpEnv(), process.env);
const log = createLog((line) => process.stdout.write(line));
const aws = {
  ...readEndpoint('secretsmanager', process.env),
  ...{ credentials: defaultProvider(), clock: systemClock },
};
const secrets = openUpstreamSecrets(aws, { secretId: env.UPSTREAM_SECRET, log });

const readSecretHeaders = async (): Promise<Record<string, string>> => {
  if (env.HEADERS === 'none') return {};
  return readHeaders((await secrets.get(OTLP_HEADERS, new AbortController().signal)).value);
};

const exportAll = createExporter({
  post: createPost({ endpoint: env.ENDPOINT, readSecretHeaders, now: Date.now }),
  addressOf: addressesIn(bundledModels),
  stage: env.STAGE,
  version: env.VERSION,
  log,
});

/**
 * Exports what the stream of the table of records says to the stage's OTLP collector. A batch that the collector does not take
 * fails as a whole, and Lambda repeats it until the stream forgets it after 24 hours.
 */
export const handler = async ({ Records }: StreamEvent): Promise<void> => {
  const entries = Records.flatMap((item) => entryOf(item) ?? []);
  try {
    await exportAll(entries);
  } catch (error) {
    const failure = error instanceof Error ? error.name : '';
    log.error('otlp_unavailable', { count: entries.length, failure });
    throw error;
  }
};
