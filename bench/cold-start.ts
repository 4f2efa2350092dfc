/**
 * What a cold start costs: `npm run bench:cold`. Each run is a fresh process that holds nothing but the
 * shipped bundle; tables, secret and upstream are the local stand-ins in this process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { RouterEnv } from '../lambdas/env.ts';
import { bundle } from '../lib/bundle/bundle.ts';
import { type LocalRouter, startLocal } from '../local/start.ts';
import { median } from './median.ts';

const RUNS = 15;
const FUNCTION = fileURLToPath(new URL('cold-start-function.cjs', import.meta.url));

const Sample = z.object({
  /** Milliseconds of CPU. */
  importCpu: z.number(),
  importWall: z.number(),
  firstCpu: z.number(),
  firstByteWall: z.number(),
  secondCpu: z.number(),
  secondByteWall: z.number(),
  /** MB after the second request. */
  rss: z.number(),
});
type Sample = z.infer<typeof Sample>;

const eventOf = ({ key, models }: LocalRouter) => ({
  version: '2.0',
  rawPath: '/v1/chat/completions',
  rawQueryString: '',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  requestContext: { http: { method: 'POST', path: '/v1/chat/completions' }, requestId: 'bench' },
  body: JSON.stringify({
    model: models[0]?.id,
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
  isBase64Encoded: false,
});

const runOnce = async (file: string, router: LocalRouter): Promise<Sample> => {
  const own = {
    STAGE: 'bench',
    MAX_SERIES: '60',
    CORS_ORIGINS: '',
    KEYS_TABLE: 'local-keys',
    PLANS_TABLE: 'local-plans',
    METERS_TABLE: 'local-meters',
    UPSTREAM_SECRET: 'local-upstreams',
  } satisfies RouterEnv;
  const child = spawn(process.execPath, [FUNCTION, file, JSON.stringify(eventOf(router))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...own,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_ENDPOINT_URL_DYNAMODB: router.endpoints.dynamo,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: router.endpoints.secrets,
    },
  });
  const exited = once(child, 'exit');
  const printed = Buffer.concat(await child.stdout.toArray()).toString();
  await exited;
  return Sample.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? ''));
};

const ROWS: [label: string, field: keyof Sample, unit: string][] = [
  ['import of the bundle, CPU', 'importCpu', 'ms'],
  ['import of the bundle, wall', 'importWall', 'ms'],
  ['first request, CPU', 'firstCpu', 'ms'],
  ['first request, to the first byte', 'firstByteWall', 'ms'],
  ['second request, CPU', 'secondCpu', 'ms'],
  ['second request, to the first byte', 'secondByteWall', 'ms'],
  ['memory after two requests (RSS)', 'rss', 'MB'],
];

const router = await startLocal();
const outdir = mkdtempSync(join(tmpdir(), 'cold-'));
try {
  const catalog = join(outdir, 'models.json');
  writeFileSync(catalog, JSON.stringify(router.models));
  const { file } = bundle({ entry: 'lambdas/router.ts', outdir, catalog });
  const samples: Sample[] = [];
  for (let at = 0; at < RUNS; at += 1) samples.push(await runOnce(file, router));
  console.log(`bundle: ${Math.round(statSync(file).size / 1024)} KB; medians of ${RUNS} processes`);
  for (const [label, field, unit] of ROWS) {
    const value = median(samples.map((sample) => sample[field]));
    console.log(`${label.padEnd(36)} ${value.toFixed(0).padStart(5)} ${unit}`);
  }
} finally {
  rmSync(outdir, { recursive: true });
  await router.close();
}
