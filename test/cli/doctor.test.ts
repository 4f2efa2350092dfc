import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { checkClock } from '../../cli/doctor.ts';
import type { Model, Target } from '../../lambdas/catalog/catalog.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { listen } from '../../local/loopback.ts';
import type { LocalRouter } from '../../local/start.ts';
import { startAwsStandIn } from '../support/aws-stand-in.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { startWatched } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { runCli, runScript } from '../support/run-cli.ts';
import { chatWire } from '../support/translate.ts';

const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const sse = (response: ServerResponse, text: string) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
const reject =
  (status: number, message: string, extra: object = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status).end(JSON.stringify({ error: { message, ...extra } }));
const answer = (response: ServerResponse) =>
  sse(response, chatWire([chunk({ content: 'ok' }), chunk({}, 'stop')]));

const Asked = z.object({ model: z.string(), tools: z.array(z.unknown()).optional() });
type Act = (response: ServerResponse, asked: z.infer<typeof Asked>) => void;

/** What the provider does, by its name of the model; it answers others. */
const ACTS: Record<string, Act> = {
  'no-such-model': reject(404, 'The model `no-such-model` does not exist.', {
    code: 'model_not_found',
  }),
  'no-such-path': (response) => void response.writeHead(404).end('<html>not found</html>'),
  'no-money': reject(429, 'You exceeded your current quota.', { code: 'insufficient_quota' }),
  'no-access': reject(403, 'This account may not use the model.'),
  redirects: (response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  page: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  truncates: (response) => sse(response, chatWire([chunk({ content: 'ok' })], '')),
  'other-cap': reject(400, "Unsupported parameter: 'max_tokens'.", { param: 'max_tokens' }),
  toolless: (response, { tools }) =>
    tools ? reject(400, 'tools are not supported')(response) : answer(response),
  'no-tools-or-effort': (response, { tools }) =>
    tools
      ? reject(400, 'Function tools with reasoning_effort are not supported.')(response)
      : answer(response),
  empty: (response) => sse(response, chatWire([chunk({}, 'stop')])),
};

const startProvider = () =>
  listen(
    createServer(async (request, response) => {
      // It lists no models.
      if (request.method === 'GET') return void response.writeHead(404).end();
      const asked = Asked.parse(await json(request));
      if (request.headers.authorization === 'Bearer revoked') {
        return reject(401, 'Incorrect API key provided: sk-abc***xyz.')(response);
      }
      return (ACTS[asked.model] ?? answer)(response, asked);
    }),
  );

type Fault = {
  what: string;
  target: (url: string) => Partial<Target>;
  model?: Partial<Model>;
  /** Expected of a check, next to its place below the model. */
  found: { check: string; result?: string; place: string; reason: string };
};

const acts = (name: string, place: string, reason: string, check = 'whole call'): Fault => ({
  what: `a provider that acts as ${name}`,
  target: () => ({ model: name }),
  found: { check, place, reason },
});

const FAULTS: Fault[] = [
  acts('no-such-model', '.targets[0].model', 'unknown-model (404): The model'),
  acts('no-such-path', '.targets[0].baseUrl', 'unknown-model (404)'),
  acts('no-money', '.targets[0].secret', 'no-quota (429): You exceeded'),
  acts('no-access', '.targets[0].secret', 'status (403): This account'),
  acts('redirects', '.targets[0].baseUrl', 'redirect (307)'),
  acts('page', '.targets[0].baseUrl', 'malformed'),
  acts('truncates', '.targets[0].protocol', 'truncated'),
  acts('other-cap', '.targets[0].maxTokensField', "Unsupported parameter: 'max_tokens'"),
  acts('toolless', '.targets[0]', 'status (400): tools are not supported', 'tool call'),
  acts(
    'no-tools-or-effort',
    '.targets[0].profile',
    'status (400): Function tools with reasoning_effort',
    'tool call',
  ),
  acts('empty', '.targets[0]', 'an empty response', 'streamed call'),
  {
    what: 'a credential that the provider rejects',
    target: () => ({ secret: 'revoked' }),
    found: { check: 'whole call', place: '.targets[0].secret', reason: 'credential-refused (401)' },
  },
  {
    what: 'a credential that the secret does not have',
    target: () => ({ secret: 'missing' }),
    found: {
      check: 'credential missing',
      place: '.targets[0].secret',
      reason: "no field 'missing'",
    },
  },
  {
    what: 'a credential that is a placeholder',
    target: () => ({ secret: 'unset' }),
    found: { check: 'credential unset', place: '.targets[0].secret', reason: 'placeholder' },
  },
  {
    what: 'a credential that no header can carry',
    target: () => ({ secret: 'pasted' }),
    found: {
      check: 'credential pasted',
      place: '.targets[0].secret',
      reason: 'no header can carry',
    },
  },
  {
    what: 'a target that the role calls, without credentials of a role',
    target: () => ({
      ...{ secret: undefined, auth: 'iam' },
      baseUrl: 'https://bedrock-mantle.eu-central-1.api.aws/v1',
    }),
    found: { check: 'whole call', place: '.targets[0].auth', reason: 'no credentials of a role' },
  },
  {
    what: 'an address that refuses connections',
    target: () => ({ baseUrl: 'http://127.0.0.1:1' }),
    found: { check: 'whole call', place: '.targets[0].baseUrl', reason: 'ECONNREFUSED' },
  },
  {
    what: 'an address without TLS that is called with it',
    target: (url) => ({ baseUrl: url.replace('http:', 'https:') }),
    found: { check: 'whole call', place: '.targets[0].baseUrl', reason: 'connect: ' },
  },
  {
    what: 'a host that does not exist, called without TLS',
    target: () => ({ baseUrl: 'http://upstream.invalid' }),
    found: {
      check: 'catalog',
      result: 'warning',
      place: '.targets[0].baseUrl',
      reason: 'without TLS',
    },
  },
  {
    what: 'an example host',
    target: () => ({ baseUrl: 'https://upstream.example/v1' }),
    found: { check: 'catalog', place: '.targets[0].baseUrl', reason: 'example host' },
  },
  {
    what: "an address with the protocol's path",
    target: (url) => ({ baseUrl: `${url}/v1/chat/completions/` }),
    found: { check: 'catalog', place: '.targets[0].baseUrl', reason: 'appends /chat/completions' },
  },
  {
    what: 'a credential in the catalog',
    target: () => ({ headers: { 'X-Api-Key': 'visible' } }),
    found: { check: 'catalog', place: '.targets[0].headers.X-Api-Key', reason: 'in the secret' },
  },
  {
    what: 'a vocabulary that is no longer read',
    target: () => ({ counting: { family: 'o200k', tokenizer: './o200k.tiktoken' } }),
    found: {
      check: 'catalog',
      result: 'warning',
      place: '.targets[0].counting.tokenizer',
      reason: 'no effect any more',
    },
  },
  {
    what: 'more output than context',
    target: () => ({}),
    model: { context_length: 10 },
    found: { check: 'catalog', place: '.max_output_tokens', reason: 'above context_length' },
  },
];

const Checks = z.object({
  checks: z.array(z.record(z.string(), z.unknown())),
  failed: z.number(),
});

const CREDENTIALS = {
  secret: CANARIES.upstreamKey,
  revoked: 'revoked',
  unset: 'placeholder',
  pasted: 'geheim…',
};
/** Ten minutes ahead of the machine that runs the doctor. */
const aheadClock = { ...systemClock, now: () => systemClock.now() + 600_000 };

let provider: Awaited<ReturnType<typeof startProvider>>;
let broken: LocalRouter;
let sound: LocalRouter;
beforeAll(async () => {
  provider = await startProvider();
  const models = FAULTS.map(({ target, model }, index) =>
    modelOn([targetAt(provider.url, target(provider.url))], { id: `vendor/${index}`, ...model }),
  );
  const twice = targetAt(provider.url);
  const doubled = modelOn([twice, twice], { id: 'vendor/doubled' });
  broken = await startWatched({
    catalog: [...models, doubled],
    secrets: CREDENTIALS,
    clock: aheadClock,
    plan: { models: ['vendor/gone'] },
  });
  sound = await startWatched({
    catalog: [
      modelOn([targetAt(provider.url)]),
      modelOn([targetAt(provider.url)], { id: 'vendor/b' }),
    ],
    secrets: { secret: CANARIES.upstreamKey },
    plan: { state: 'asked' },
  });
});
afterAll(async () => {
  await Promise.all([broken.close(), sound.close()]);
  await provider.close();
});

test.each([
  ['12:00:19', 'ok', undefined],
  ['11:59:50', 'warning', 'The router is 10 s behind this machine.'],
  ['12:00:30', 'warning', 'The router is 10 s ahead of this machine.'],
])('a router that returns the time %s in a call of 12:00:00 to 12:00:20 is %s', (time, ...row) => {
  const textOf = (text: string) => `2026-11-22T${text}Z`;
  const [from, until] = [Date.parse(textOf('12:00:00')), Date.parse(textOf('12:00:20'))];
  const { result, reason } = checkClock(textOf(time), from, until);
  expect([result, reason]).toEqual(row);
});

const checksOf = (out: string) => Checks.parse(JSON.parse(out)).checks;

describe('doctor on a router with planted faults', () => {
  let checks: Record<string, unknown>[] = [];
  beforeAll(async () => {
    const { code, out, err } = await runCli(['doctor', '--json', '--url', broken.baseUrl]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^\d+ checks failed\./) });
    checks = checksOf(out);
    for (const secret of [CANARIES.upstreamKey, 'sk-abc', 'geheim'])
      expect(out).not.toContain(secret);
  });

  const expectCheck = (expected: { result: string; place: string; reason: string }) =>
    expect(checks).toContainEqual(
      expect.objectContaining({ ...expected, reason: expect.stringContaining(expected.reason) }),
    );

  test.each(FAULTS.map((fault, index) => ({ ...fault, index })))(
    'doctor finds $what and its place in the catalog',
    ({ index, found: { result = 'failed', place, ...rest } }) => {
      expectCheck({ ...rest, result, place: `[${index}]${place}` });
    },
  );

  test('doctor finds a target that is listed twice', () => {
    const place = `[${FAULTS.length}].targets[1]`;
    expectCheck({ result: 'warning', place, reason: 'The same target as [0]' });
  });

  test('doctor finds a plan whose model is not in the catalog', () => {
    expectCheck({ result: 'failed', place: 'plan local', reason: 'vendor/gone' });
  });

  test('doctor finds a clock that is ten minutes ahead', () => {
    expectCheck({ result: 'failed', place: 'clock', reason: 's ahead of this machine' });
  });
});

describe('doctor on a sound router', () => {
  test('doctor passes with exit code 0 and a table of four calls per target', async () => {
    const { code, out, err } = await runCli(['doctor', '--url', sound.baseUrl]);
    expect({ code, err }).toEqual({ code: 0, err: 'All checks passed.\n' });
    expect(out.split('\n')[0]).toMatch(/^RESULT +CHECK +MODEL +UPSTREAM +MS +PLACE +REASON$/);
    expect(out.match(/^ok +(?:whole|streamed|tool|list) call/gm)).toHaveLength(8);
    expect(out).not.toMatch(/failed|warning/);
  });

  test('doctor with --no-calls makes no call to a provider', async () => {
    const { code, out } = await runCli(['doctor', '--no-calls', '--json', '--url', sound.baseUrl]);
    expect(code).toBe(0);
    expect(checksOf(out).filter(({ check }) => String(check).endsWith(' call'))).toEqual([]);
  });

  test('doctor shows which plans store responses', async () => {
    const { out } = await runCli(['doctor', '--no-calls', '--json', '--url', sound.baseUrl]);
    expect(checksOf(out)).toContainEqual({
      ...{ check: 'stored and background responses', result: 'ok' },
      reason: 'local: asked, off for other plans',
    });
  });

  test('targets test calls the targets of one model', async () => {
    const { code, out } = await runCli(['targets', 'test', 'vendor/b', '--url', sound.baseUrl]);
    expect(code).toBe(0);
    expect(out.match(/vendor\/b/g)).toHaveLength(4);
    expect(out).not.toContain('vendor/model');
  });

  test('targets test of an unknown model lists the models', async () => {
    const { code, err } = await runCli(['targets', 'test', 'vendor/x', '--url', sound.baseUrl]);
    expect({ code, err }).toEqual({
      code: 1,
      err: "The catalog has no model 'vendor/x'. It has: vendor/model, vendor/b.\n",
    });
  });

  test('a table of doctor shows every character of its reasons, whether a router runs or not', async () => {
    const { out } = await runCli(['doctor', '--no-calls']);
    expect(out).toContain('endpoint router');
    expect(out).not.toContain('\uFFFD');
  });

  test('doctor reports an address without a router as a failed endpoint', async () => {
    const { code, out } = await runCli(['doctor', '--json', '--url', 'http://127.0.0.1:1']);
    expect(code).toBe(1);
    expect(checksOf(out)).toContainEqual(
      expect.objectContaining({ check: 'endpoint router', result: 'failed' }),
    );
  });
});

describe('doctor on a stack', () => {
  const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

  test('doctor finds the kill switch, a small account and a Function URL that is down', async () => {
    const aws = await startAwsStandIn({
      stack: 'model-router-prod',
      secretAccessKey: SECRET,
      behind: sound.baseUrl,
      outputs: { FunctionUrl: 'http://127.0.0.1:1', RouterFunctionName: 'router' },
      lambda: {
        '/2016-08-19/account-settings/': { AccountLimit: { ConcurrentExecutions: 10 } },
        '/2019-09-30/functions/router/concurrency': { ReservedConcurrentExecutions: 0 },
      },
    });
    try {
      const args = ['doctor', '--json', '--stack', 'model-router-prod'];
      const { code, out } = await runScript('cli/main.ts', args, {
        AWS_ENDPOINT_URL_CLOUDFORMATION: aws.endpoint,
        AWS_ENDPOINT_URL_LAMBDA: aws.lambdaEndpoint,
        AWS_REGION: 'eu-central-1',
        AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        AWS_SECRET_ACCESS_KEY: SECRET,
        AWS_CONFIG_FILE: '/nowhere',
        AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
      });
      expect(code).toBe(1);
      const notable = checksOf(out).filter(({ result }) => result !== 'ok');
      expect(notable.map(({ check, result, place }) => [check, result, place])).toEqual([
        ['endpoint Function URL', 'failed', 'Function URL'],
        ['quota', 'warning', 'Concurrent executions'],
        ['quota', 'failed', 'reservedConcurrency'],
      ]);
      expect(checksOf(out).filter(({ check }) => check === 'whole call')).toHaveLength(2);
    } finally {
      await aws.close();
    }
  });
});
