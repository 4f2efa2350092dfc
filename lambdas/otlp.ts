import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { readEndpoint } from './aws/endpoint.ts';
import { bundledModels } from './catalog/bundled-models.ts';
import { OTLP_HEADERS, otlpEnv, readEnv } from './env.ts';
import { addressesIn } from './otlp/address-of.ts';
import { createExporter } from './otlp/exporter.ts';
import { createPost, readHeaders } from './otlp/post.ts';
import { entryOf, type StreamEvent } from './otlp/read-stream.ts';
import { systemClock } from './support/clock.ts';
import { createLog } from './support/log.ts';
import { openUpstreamSecrets } from './upstreams/secrets-manager.ts';

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
