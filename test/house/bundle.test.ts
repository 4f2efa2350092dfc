import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { RouterEnv } from '../../lambdas/env.ts';
import { mintKey } from '../../lambdas/keys/api-key.ts';
import { bundle } from '../../lib/bundle/bundle.ts';
import { sharedBundle } from '../support/shared-bundle.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const outdir = temporaryFolder('bundle');

const { folder: shipped, file, sources } = sharedBundle({ entry: 'lambdas/router.ts' });
const paths = Object.keys(sources);

/**
 * Every KB is parsed in each cold start. What few requests need, or what the first of them can wait a millisecond for, is in the
 * files of `PARTS`: here is what a streamed or whole request to a target of its own protocol runs.
 */
const BUDGET_KB = 300;
/** Files that are loaded when a request first needs them, with their limits in KB. */
const PARTS = {
  'late-responses.cjs': 50,
  'late-answers.cjs': 9,
  'late-crossing.cjs': 22,
  'late-encoders.cjs': 14,
  'late-family-weights.cjs': 8,
  'late-gemini.cjs': 11,
  'late-read-between.cjs': 3,
  'late-read-error.cjs': 28,
  'late-reports.cjs': 27,
  'late-run-once.cjs': 12,
  'late-state.cjs': 18,
  'late-webhook-store.cjs': 3,
  'late-webhooks.cjs': 6,
  'late-counted-meters.cjs': 7,
  'late-leases.cjs': 13,
  'late-failures.cjs': 13,
  'late-limit-errors.cjs': 5,
  'late-media.cjs': 6,
  'late-stops.cjs': 3,
  'late-fuse.cjs': 7,
  'late-preference.cjs': 4,
  'late-calibrate.cjs': 4,
  'late-sharding.cjs': 11,
  'late-seat.cjs': 12,
  'late-share-store.cjs': 2,
  'late-thresholds.cjs': 4,
};

/** Those that a catalog whose targets have several protocols loads at the start. */
const TRANSLATION = ['late-crossing.cjs', 'late-encoders.cjs', 'late-family-weights.cjs'];

/**
 * Replaces the Lambda runtime: sends one event, with the network disabled unless the services of AWS are at another
 * address, and reports how often a host name was compared with Node's expressions of addresses.
 */
const RUNTIME = `
  const net = require('node:net');
  if (!process.env.AWS_ENDPOINT_URL) {
    net.Socket.prototype.connect = () => { throw new Error('The network was used.'); };
  }
  const { isIP } = net;
  let hostNames = 0;
  net.isIP = (host) => {
    hostNames += 1;
    return isIP(host);
  };
  const { Writable } = require('node:stream');
  const chunks = [];
  let head = { statusCode: 0, headers: {} };
  globalThis.awslambda = {
    streamifyResponse: (handler) => handler,
    HttpResponseStream: { from: (stream, metadata) => { head = metadata; return stream; } },
  };
  const { handler } = require(process.argv[2]);
  const loaded = () => process.moduleLoadList.filter((name) => name.startsWith('NativeModule '));
  const imported = loaded();
  const compared = hostNames;
  const missingExports = () => {
    const folder = require('node:path').dirname(process.argv[2]);
    const parts = require('node:fs').readdirSync(folder).filter((name) => name.startsWith('late-'));
    return parts.flatMap((name) => {
      const values = require(folder + '/' + name);
      return Object.keys(values).filter((key) => values[key] === undefined);
    });
  };
  const sink = new Writable({ write: (chunk, _encoding, done) => { chunks.push(chunk); done(); } });
  const context = { awsRequestId: 'a', getRemainingTimeInMillis: () => 900_000 };
  Promise.resolve(handler(JSON.parse(process.argv[3]), sink, context)).then(() => {
    const body = Buffer.concat(chunks).toString();
    process.stdout.write('\\n' + JSON.stringify({
      status: head.statusCode,
      headers: head.headers,
      body,
      compared,
      imported: imported.map((name) => name.split(' ')[1]),
      parts: Object.keys(require.cache).map((path) => path.split('/').at(-1)).filter((name) => name.startsWith('late-')),
      modules: loaded().slice(imported.length).map((name) => name.split(' ')[1]),
      missing: missingExports(),
    }));
  });
`;

const Answer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  /** Host names that were compared with Node's expressions of addresses before the request. */
  compared: z.int(),
  /** Node's modules that were loaded before the request. */
  imported: z.array(z.string()),
  /** Late parts of the bundle that were loaded. */
  parts: z.array(z.string()),
  /** Exports of late parts that have no value. */
  missing: z.array(z.string()),
  /** Node's modules that the request loaded. */
  modules: z.array(z.string()),
});

const KEY = mintKey((size) => new Uint8Array(size));

type Variables = Record<string, string>;

const env = {
  STAGE: 'test',
  MAX_SERIES: '64',
  CORS_ORIGINS: '',
  KEYS_TABLE: 'keys',
  PLANS_TABLE: 'plans',
  METERS_TABLE: 'meters',
  RECORDS_TABLE: 'records',
  HISTORY_TABLE: 'history',
  RECORD_DAYS: '35',
  TRACEPARENT: 'keep',
  UPSTREAM_SECRET: 'upstreams',
} satisfies RouterEnv;

/** Response of the bundle to an event, in a fresh process without node_modules. */
const respond = (event: object, variables: Variables, script: string) => {
  const runtime = join(outdir, 'runtime.cjs');
  writeFileSync(runtime, RUNTIME);
  const run = spawnSync(process.execPath, [runtime, script, JSON.stringify(event)], {
    cwd: outdir,
    encoding: 'utf8',
    env: {
      ...{ ...env, AWS_REGION: 'eu-central-1' },
      ...{ AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' },
      ...variables,
    },
  });
  expect(run.stderr).toBe('');
  const lines = run.stdout.split('\n');
  return { ...Answer.parse(JSON.parse(lines.at(-1) ?? '')), log: lines.slice(0, -1) };
};

const responses = new Map<string, ReturnType<typeof respond>>();

/** As `respond`: several tests read one response. */
const invoke = (event: object, variables: Variables = {}, script = file) => {
  const name = JSON.stringify([event, variables, script]);
  const response = responses.get(name) ?? respond(event, variables, script);
  responses.set(name, response);
  return response;
};

const send = (
  method: string,
  path: string,
  {
    headers: sent = {},
    variables = {},
    script = file,
  }: { headers?: Variables; variables?: Variables; script?: string } = {},
) =>
  invoke(
    {
      version: '2.0',
      rawPath: path,
      rawQueryString: '',
      headers: { host: 'router.test', 'content-type': 'application/json', ...sent },
      requestContext: { http: { method, path, sourceIp: '192.0.2.1' }, requestId: 'r' },
      isBase64Encoded: false,
    },
    variables,
    script,
  );

describe('the bundle of the router function', () => {
  test(`the router bundle is at most ${BUDGET_KB} KB`, () => {
    expect(statSync(file).size / 1024).toBeLessThan(BUDGET_KB);
  });

  test('the late parts of the router bundle are the listed files, each below its limit', () => {
    expect(readdirSync(shipped).filter((name) => name.startsWith('late-'))).toEqual(
      Object.keys(PARTS).sort(),
    );
    for (const [name, limitKb] of Object.entries(PARTS)) {
      expect(statSync(join(shipped, name)).size / 1024).toBeLessThan(limitKb);
    }
  });

  test('no source is in two files of the router bundle, so a class or a state exists once', () => {
    const files = ['index.cjs', ...Object.keys(PARTS)].map((name) =>
      readFileSync(join(shipped, name), 'utf8'),
    );
    // What only the constructor of one class and one cache of the protocols say.
    for (const words of ['this.name="UpstreamError"', 'this.name="ApiError"']) {
      expect(files.filter((script) => script.includes(words))).toHaveLength(1);
    }
  });

  test('each export of a late part has a value, also one that a part hands on from the first file', () => {
    expect(send('GET', '/').missing).toEqual([]);
  });

  test('a request of chat or messages, and one without a route, load no late part but what translates, at the start', () => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/nothing']) {
      expect(send('POST', path).parts).toEqual(TRANSLATION);
    }
  });

  test('a bundle whose targets have one protocol loads no late part at its start', () => {
    const catalog = join(outdir, 'models.json');
    const [model] = JSON.parse(readFileSync('lambdas/catalog/models.json', 'utf8'));
    writeFileSync(catalog, JSON.stringify([{ ...model, targets: [model.targets[0]] }]));
    const { file: script } = bundle({
      ...{ entry: 'lambdas/router.ts', catalog },
      outdir: join(outdir, 'one'),
    });
    expect(send('POST', '/v1/messages', { script }).parts).toEqual([]);
  });

  test('a request of responses loads the part of its protocol, and is rejected in its format', () => {
    const { status, body, parts } = send('POST', '/v1/responses');
    expect([status, parts]).toEqual([401, [...TRANSLATION, 'late-responses.cjs']]);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'invalid_api_key' } });
  });

  test("the schedule's event of webhooks loads no further late part in a stage that stores no responses", () => {
    expect(invoke({ job: 'webhooks' })).toMatchObject({
      status: 0,
      body: '',
      parts: TRANSLATION,
      log: [''],
    });
  });

  test('a bundle whose catalog has a target of a protocol has that protocol in its first file', () => {
    const catalog = join(outdir, 'models.json');
    const [model] = JSON.parse(readFileSync('lambdas/catalog/models.json', 'utf8'));
    const target = { ...model.targets[0], protocol: 'gemini' };
    writeFileSync(catalog, JSON.stringify([{ ...model, targets: [target] }]));
    const folder = join(outdir, 'gemini');
    cpSync(shipped, folder, { recursive: true });
    expect(readdirSync(folder)).toContain('late-gemini.cjs');
    bundle({ entry: 'lambdas/router.ts', outdir: folder, catalog });
    expect(readdirSync(folder)).toContain('late-responses.cjs');
    expect(readdirSync(folder)).not.toContain('late-gemini.cjs');
  });

  test("the router bundle contains no part of AWS's SDK", () => {
    expect(paths.filter((path) => /node_modules\/@(aws|smithy)/.test(path))).toEqual([]);
    expect(readFileSync(file, 'utf8')).not.toMatch(
      /NodeHttpHandler|StandardRetry|endpointProvider/,
    );
  });

  test('the router bundle contains no zod, whose objects take long to build', () => {
    expect(paths.filter((path) => path.includes('node_modules/zod'))).toEqual([]);
  });

  test('the router bundle has none of the writes of plans, keys and the history that only operators make', () => {
    const script = readFileSync(file, 'utf8');
    expect(script).toMatch(/set:\{entry:JSON\.stringify\(\w+\),revision/);
    expect(script).not.toMatch(/assignedAt|"paused":true|summedAt:/);
  });

  test('the router bundle is ASCII, which V8 keeps in one byte a character', () => {
    expect(readFileSync(file, 'utf8').length).toBe(statSync(file).size);
  });

  test('Node finds the handler of the router bundle also for a runtime that imports it', () => {
    expect(readFileSync(file, 'utf8')).toMatch(/0&&\(module\.exports=\{[^}]*\bhandler\b[^}]*\}\)/);
  });

  test('the router bundle has no dynamic import', () => {
    expect(readFileSync(file, 'utf8')).not.toMatch(/\bimport\(/);
  });

  test("the router bundle loads none of Node's HTTP client and server", () => {
    const { imported } = send('GET', '/');
    expect(imported.filter((name) => /^_?https?(_|$)/.test(name))).toEqual([]);
  });

  test('the router bundle loads no web streams, which would take 5 ms of each cold start', () => {
    const { imported } = send('GET', '/');
    expect(imported).toContain('net');
    expect(imported.filter((name) => name.includes('webstreams'))).toEqual([]);
  });

  test('the router bundle loads and responds to GET / without node_modules and network', () => {
    expect(send('GET', '/').status).toBe(200);
  });

  test('the router bundle rejects a request without a key in the error format of its protocol', () => {
    const { status, headers, body } = send('POST', '/v1/messages');
    expect(status).toBe(401);
    expect(headers['x-request-id']).toMatch(/^req_/);
    expect(JSON.parse(body)).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
    });
  });

  test('the first request loads no module of Node: all are loaded while the function starts', () => {
    expect(send('POST', '/v1/messages').modules).toEqual([]);
    const calls = send('POST', '/v1/messages', {
      headers: { 'x-api-key': KEY },
      // Connects to a host name over TLS, as to AWS. No server listens on the port.
      variables: { AWS_ENDPOINT_URL: 'https://localhost:1' },
    });
    expect(calls.status).toBe(503);
    expect(calls.modules).toEqual([]);
  });

  test('the router bundle compares two host names with the expressions of IP addresses while it starts, for which V8 compiles them', () => {
    expect(send('GET', '/').compared).toBe(2);
  });

  test('the router bundle logs the names of errors although its functions have none', () => {
    const { status, log } = send('GET', '/v1/models', { headers: { 'x-api-key': KEY } });
    expect(status).toBe(503);
    const failed = log.find((line) => line.includes('request_failed'));
    expect(failed).toContain('"failure":"ApiError(503) < StoreUnavailable');
  });
});
