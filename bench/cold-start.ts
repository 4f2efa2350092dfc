/**
 * What a cold start costs: `npm run bench:cold`. Each run is a fresh process that holds nothing but the
 * shipped bundle; tables, secret and upstream are the local stand-ins in this process.
 *
 * `npm run bench:cold -- HEAD~1` also measures the bundle of an earlier commit, by turns with this
 * checkout's, so that both have the same machine. Compare the columns; milliseconds differ between machines.
 *
 * With `-- --tls` the stand-ins have a host name and speak TLS, as AWS and providers do: most of a first request's
 * connections is Node's work then.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { RouterEnv } from '../lambdas/env.ts';
import { bundle, WEB_BUNDLE } from '../lib/bundle/bundle.ts';
import { createCertificate } from '../test/support/deployment/self-signed.ts';
import { type DynamoRouter, startOnDynamo } from '../test/support/dynamo-stores.ts';
import { bundlerOf } from './checkout.ts';
import { median } from './median.ts';

const RUNS = 9;
/** The first processes read the files from the disk. */
const DISCARDED = 2;
const FUNCTION = fileURLToPath(new URL('cold-start-function.cjs', import.meta.url));

const Sample = z.object({
  /** Milliseconds of CPU. */
  importCpu: z.number(),
  importWall: z.number(),
  firstCpu: z.number(),
  firstByteWall: z.number(),
  secondCpu: z.number(),
  /** Mean of requests 3 to 22. */
  furtherCpu: z.number(),
  /** MB after the second request. */
  rss: z.number(),
});
type Sample = z.infer<typeof Sample>;

/** What the processes call. */
type StandIns = {
  dynamo: string;
  secrets: string;
  /** Text of the catalog, whose targets are the stand-in of the upstream. */
  catalog: string;
  /** File of their certificate. */
  certificate?: string;
  close(): void;
};

const plainStandIns = ({ endpoints, models }: DynamoRouter): StandIns => ({
  ...endpoints,
  catalog: JSON.stringify(models),
  close: () => {},
});

const startTlsStandIns = async (
  { endpoints, models }: DynamoRouter,
  folder: string,
): Promise<StandIns> => {
  const certificate = createCertificate(['localhost']);
  const file = join(folder, 'certificate.pem');
  writeFileSync(file, certificate.cert);
  const closes: (() => void)[] = [];
  const overTls = async (address: string): Promise<string> => {
    const { hostname, port, origin } = new URL(address);
    const server = createServer(certificate, (socket) => {
      // A process exits with its connections open.
      pipeline(socket, connect(Number(port), hostname), socket, () => undefined);
    });
    server.listen(0, 'localhost');
    await once(server, 'listening');
    closes.push(() => server.close());
    return address.replace(origin, `https://localhost:${(server.address() as AddressInfo).port}`);
  };
  const upstream = new URL(models[0]?.targets[0]?.baseUrl ?? '').origin;
  const catalog = JSON.stringify(models).replaceAll(upstream, await overTls(upstream));
  return {
    dynamo: await overTls(endpoints.dynamo),
    secrets: await overTls(endpoints.secrets),
    catalog,
    certificate: file,
    close: () => {
      for (const close of closes) close();
    },
  };
};

const eventOf = ({ key, models }: DynamoRouter) => ({
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

type Runs = { router: DynamoRouter; standIns: StandIns };

const runOnce = async (file: string, { router, standIns }: Runs): Promise<Sample> => {
  const own = {
    STAGE: 'bench',
    MAX_SERIES: '60',
    CORS_ORIGINS: '',
    KEYS_TABLE: 'keys',
    PLANS_TABLE: 'plans',
    METERS_TABLE: 'meters',
    RECORDS_TABLE: 'records',
    HISTORY_TABLE: 'history',
    RECORD_DAYS: '35',
    TRACEPARENT: 'keep',
    UPSTREAM_SECRET: 'local-upstreams',
  } satisfies RouterEnv;
  const child = spawn(process.execPath, [FUNCTION, file, JSON.stringify(eventOf(router))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...own,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_ENDPOINT_URL_DYNAMODB: standIns.dynamo,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: standIns.secrets,
      ...(standIns.certificate && { NODE_EXTRA_CA_CERTS: standIns.certificate }),
    },
  });
  const exited = once(child, 'exit');
  const printed = Buffer.concat(await child.stdout.toArray()).toString();
  await exited;
  return Sample.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? ''));
};

const ROWS: [label: string, field: keyof Sample][] = [
  ['import of the bundle, ms of CPU', 'importCpu'],
  ['import of the bundle, ms', 'importWall'],
  ['first request, ms of CPU', 'firstCpu'],
  ['first request, ms to the first byte', 'firstByteWall'],
  ['second request, ms of CPU', 'secondCpu'],
  ['requests 3 to 22, ms of CPU each', 'furtherCpu'],
  ['memory after two requests, MB', 'rss'],
];

const [, , ...words] = process.argv;
const isTls = words.includes('--tls');
const revisions = words.filter((word) => word !== '--tls');

type Build = { name: string; file: string; samples: Sample[] };
/** The bundles of earlier commits and of this checkout, each built by its own sources. */
const buildAll = async (folder: string, catalog: string): Promise<Build[]> => {
  const earlier = await Promise.all(
    revisions.map(async (revision, index) => ({
      name: revision,
      builder: await bundlerOf(revision, join(folder, 'sources', String(index))),
    })),
  );
  return [...earlier, { name: 'this checkout', builder: { bundle } }].map(
    ({ name, builder }, index) => {
      const options = { entry: 'lambdas/router.ts', outdir: join(folder, String(index)), catalog };
      return { name, file: builder.bundle(options).file, samples: [] };
    },
  );
};

const print = (builds: Build[]) => {
  const line = (label: string, cells: (string | number)[]) =>
    console.log(label.padEnd(36) + cells.map((cell) => String(cell).padStart(16)).join(''));
  line(
    `medians of ${RUNS} processes`,
    builds.map(({ name }) => name.slice(0, 15)),
  );
  line(
    'size of the bundle, KB',
    builds.map(({ file }) => Math.round(statSync(file).size / 1024)),
  );
  for (const [label, field] of ROWS) {
    line(
      label,
      builds.map(({ samples }) => median(samples.map((sample) => sample[field])).toFixed(1)),
    );
  }
};

// As many requests as the runs send within a minute.
const router = await startOnDynamo({ plan: { rpm: 1_000_000 } });
const outdir = mkdtempSync(join(tmpdir(), 'cold-'));
const standIns = isTls ? await startTlsStandIns(router, outdir) : plainStandIns(router);
try {
  const catalog = join(outdir, 'models.json');
  writeFileSync(catalog, standIns.catalog);
  const builds = await buildAll(outdir, catalog);
  for (let run = 0; run < DISCARDED + RUNS; run += 1) {
    for (const { file, samples } of builds) {
      const sample = await runOnce(file, { router, standIns });
      if (run >= DISCARDED) samples.push(sample);
    }
  }
  print(builds);
  const web = bundle({ ...WEB_BUNDLE, outdir: join(outdir, 'web'), catalog });
  console.log(`the Web Function's bundle: ${Math.round(statSync(web.file).size / 1024)} KB`);
} finally {
  rmSync(outdir, { recursive: true });
  standIns.close();
  await router.close();
}
