import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import type { Model, Target } from '../../lambdas/catalog/catalog.ts';
import { listen } from '../../local/loopback.ts';
import type { LocalRouter } from '../../local/start.ts';
import { startWatched } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { runCli } from '../support/run-cli.ts';
import { chatWire } from '../support/translate.ts';

const SECRET = 'sk-of-the-provider';

type Headers = IncomingMessage['headers'];
const isBearer = ({ authorization }: Headers) => authorization === `Bearer ${SECRET}`;
const isClaude = (headers: Headers) =>
  headers['x-api-key'] === SECRET && headers['anthropic-version'] === '2023-06-01';

/** Model objects as the vendors document them, at the addresses that they document, and nothing else. */
const VENDORS: { may: (headers: Headers) => boolean; paths: Record<string, object> }[] = [
  {
    may: isBearer,
    paths: {
      '/openai/v1/models/gpt-old': {
        ...{ id: 'gpt-old', object: 'model', created: 1_686_935_002, owned_by: 'openai' },
        shutdown_date: '2099-12-11',
      },
      '/openai/v1/models/gpt-new': {
        ...{ id: 'gpt-new', object: 'model', created: 1_686_935_002, owned_by: 'openai' },
        shutdown_date: null,
      },
    },
  },
  {
    may: isClaude,
    paths: {
      '/anthropic/v1/models/claude-old': {
        ...{ id: 'claude-old', type: 'model', display_name: 'Old', lifecycle: 'deprecated' },
        ...{ created_at: '2026-02-04T00:00:00Z', deprecated_at: '2099-01-05T00:00:00Z' },
        retires_at: '2099-06-15T16:00:00Z',
      },
    },
  },
  {
    may: isBearer,
    paths: {
      '/mistral/v1/models/mistral-old': {
        ...{ id: 'mistral-old', object: 'model', owned_by: 'mistralai', type: 'base' },
        ...{ aliases: [], capabilities: { completion_chat: true } },
        ...{ deprecation: '2099-07-31T12:00:00Z', deprecation_replacement_model: 'mistral-new' },
      },
    },
  },
  {
    may: isBearer,
    // It has no address for one model.
    paths: {
      '/openrouter/api/v1/models': {
        data: [
          { id: 'vendor/other', name: 'Other', expiration_date: '2099-01-01' },
          { id: 'vendor/old', name: 'Old', expiration_date: '2099-12-31' },
        ],
      },
    },
  },
];

const refused: string[] = [];
const startVendors = () =>
  listen(
    createServer((request, response) => {
      request.resume();
      const { method, url = '', headers } = request;
      const { pathname } = new URL(url, 'http://vendor.test');
      if (method === 'POST') {
        const deltas = [{ delta: { content: 'ok' }, finish_reason: null }];
        const ends = [{ delta: {}, finish_reason: 'stop' }];
        const choices = [...deltas, ...ends].map((each) => ({ choices: [{ index: 0, ...each }] }));
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(chatWire(choices));
        return;
      }
      const folder = `/${pathname.split('/')[1]}/`;
      const vendor = VENDORS.find(({ paths }) => Object.keys(paths)[0]?.startsWith(folder));
      const isBad = method !== 'GET' || !vendor?.may(headers);
      if (isBad) refused.push(`${method} ${url}`);
      const found = vendor?.paths[pathname];
      const status = isBad ? 401 : found ? 200 : 404;
      const body = status === 200 ? found : { error: { message: 'no' } };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }),
  );

let vendors: Awaited<ReturnType<typeof startVendors>>;
let router: LocalRouter;

const modelAt = (path: string, name: string, more: Partial<Model> = {}, at: Partial<Target> = {}) =>
  modelOn([targetAt(`${vendors.url}/${path}`, { upstream: path, model: name, ...at })], {
    id: `${path}/${name}`,
    tools: false,
    ...more,
  });

beforeAll(async () => {
  vendors = await startVendors();
  const shared = modelAt('openai/v1', 'gpt-old', { id: 'openai/shared' });
  router = await startWatched({
    catalog: [
      modelAt('openai/v1', 'gpt-old'),
      modelAt('openai/v1', 'gpt-old', { id: 'openai/agrees', retires: '2099-12-11' }),
      modelAt('openai/v1', 'gpt-old', { id: 'openai/late', retires: '2100-01-01' }),
      modelAt('openai/v1', 'gpt-new'),
      modelAt('openai/v1', 'unlisted'),
      modelAt('anthropic', 'claude-old', {}, { protocol: 'messages' }),
      modelAt('mistral/v1', 'mistral-old'),
      modelAt('openrouter/api/v1', 'vendor/old'),
      {
        ...shared,
        targets: [...shared.targets, ...modelAt('mistral/v1', 'mistral-new').targets],
      },
    ],
    secrets: { secret: SECRET },
  });
});
afterAll(async () => {
  await router.close();
  await vendors.close();
});

const Found = z.object({
  checks: z.array(
    z.object({
      check: z.string(),
      model: z.string().optional(),
      result: z.string(),
      place: z.string().optional(),
      reason: z.string().optional(),
    }),
  ),
});

const doctor = async (...options: string[]) => {
  const { out } = await runCli(['doctor', '--json', ...options, '--url', router.baseUrl]);
  return Found.parse(JSON.parse(out)).checks.filter(({ check }) => check === 'list call');
};

test('doctor names each model whose provider lists a day of retirement that the catalog lacks or states otherwise', async () => {
  const found = await doctor();
  const warned = found.filter(({ result }) => result !== 'ok');
  expect(warned.map(({ model, place, result }) => `${result} ${model} ${place}`)).toEqual([
    'warning openai/v1/gpt-old [0].targets[0].model',
    'warning openai/late [2].targets[0].model',
    'warning anthropic/claude-old [5].targets[0].model',
    'warning mistral/v1/mistral-old [6].targets[0].model',
    'warning openrouter/api/v1/vendor/old [7].targets[0].model',
    'warning openai/shared [8].targets[0].model',
  ]);
  expect(warned.map(({ reason }) => reason)).toEqual([
    'The provider retires it on 2099-12-11, the catalog states no date: set retires of the model to "2099-12-11".',
    'The provider retires it on 2099-12-11, the catalog states 2100-01-01: set retires of the model to "2099-12-11".',
    'The provider retires it on 2099-06-15, the catalog states no date: set retires of the model to "2099-06-15".',
    'The provider retires it on 2099-07-31, the catalog states no date: set retires of the model to "2099-07-31". The provider names mistral-new as its successor.',
    'The provider retires it on 2099-12-31, the catalog states no date: set retires of the model to "2099-12-31".',
    'The provider retires it on 2099-12-11, the catalog states no date: the other targets serve alone from then on.',
  ]);
  expect(refused).toEqual([]);
});

test('doctor finds no fault in a model whose provider agrees, announces no day, or lists it nowhere', async () => {
  const { out, err, code } = await runCli([
    'targets',
    'test',
    'openai/v1/unlisted',
    '--url',
    router.baseUrl,
  ]);
  expect({ code, err }).toEqual({ code: 0, err: 'All checks passed.\n' });
  expect(out).toMatch(/ok +list call .*The provider lists no date of retirement\./);
  const found = await doctor();
  expect(
    found.filter(({ result }) => result === 'ok').map(({ model, reason }) => [model, reason]),
  ).toEqual([
    ['openai/agrees', 'The provider retires it on 2099-12-11, too.'],
    ['openai/v1/gpt-new', 'The provider lists no date of retirement.'],
    ['openai/v1/unlisted', 'The provider lists no date of retirement.'],
    ['openai/shared', 'The provider lists no date of retirement.'],
  ]);
});

test('doctor with --no-calls reads no list of a provider', async () => {
  expect(await doctor('--no-calls')).toEqual([]);
});
