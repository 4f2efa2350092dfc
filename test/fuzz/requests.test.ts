import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAddress } from '../../lambdas/http/read-address.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import type { Family } from '../support/families.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { startInstantUpstream } from '../support/instant-upstream.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { fc } from '../support/seeds.ts';
import { costOf, expectOwed } from './answer-rules.ts';
import { requestSamples } from './corpus.ts';
import { deliver, type Front, type Request } from './deliver.ts';
import { fuzz, timeoutOf } from './fuzz.ts';
import { type ByteMutation, byteMutation, mutateBytes } from './mutate-bytes.ts';
import { type JsonMutation, jsonMutation, mutateJson } from './mutate-json.ts';
import { some } from './wire-inputs.ts';

const SHARE = 0.45;

/** One good request, and what is done to it. */
type Input = {
  front: Front;
  /** Which one, by its label. */
  sample: string;
  json: JsonMutation[];
  bytes: ByteMutation[];
  isPacked: boolean;
  headers: { name: string; value: string; isAdded: boolean }[];
  path: ByteMutation[];
  method: string | undefined;
};
type Sample = { name: string; method: string; path: string; text: string };

const POSTS = {
  chat: ['/v1/chat/completions'],
  messages: ['/v1/messages', '/v1/messages/count_tokens'],
  responses: ['/v1/responses', '/v1/responses/input_tokens'],
};

const ALL: Sample[] = [
  ...requestSamples.flatMap(({ name, wire, text }) =>
    POSTS[wire].flatMap((path) => [
      { name, method: 'POST', path, text },
      { name, method: 'POST', path, text: text.replace('"vendor/model"', '"vendor/other"') },
    ]),
  ),
  ...[
    '/',
    '/v1/models',
    '/v1/models/vendor/model',
    '/v1/models/vendor%2Fmodel',
    '/v1/usage',
    '/v1/requests/req_x',
  ].map((path) => ({ name: path, method: 'GET', path, text: '' })),
];

const SAMPLES = new Map(ALL.map((sample, at) => [`${at} ${sample.name} ${sample.path}`, sample]));

const HEADER_NAMES = [
  ...['authorization', 'x-api-key', 'content-type', 'content-encoding', 'content-length', 'accept'],
  ...[
    'anthropic-version',
    'anthropic-beta',
    'x-request-id',
    'expect',
    'transfer-encoding',
    'cookie',
  ],
];
const HEADER_VALUES = [
  ...['', ' ', ',', 'application/json; charset=utf-16', 'text/plain', 'gzip', 'x-gzip', 'identity'],
  ...[
    'Bearer',
    'Bearer  ',
    'Bearer x',
    'Basic Og==',
    'mr_live_0',
    '2023-06-01',
    'latest',
    '0',
    '-1',
  ],
  ...['application/json;charset="', 'multipart/form-data', 'a'.repeat(9_000), '\u00ff', 'gzip, br'],
];

const input: fc.Arbitrary<Input> = fc.record({
  front: fc.constantFrom<Front>('a Function URL', 'a REST API'),
  sample: fc.constantFrom(...SAMPLES.keys()),
  json: some(7, jsonMutation),
  bytes: some(3, byteMutation),
  isPacked: fc.nat(9).map((n) => n === 9),
  headers: some(
    1,
    fc.record({
      name: fc.constantFrom(...HEADER_NAMES),
      value: fc.oneof(fc.constantFrom(...HEADER_VALUES), fc.string({ maxLength: 20 })),
      isAdded: fc.boolean(),
    }),
  ),
  path: some(1, byteMutation),
  method: fc.oneof(
    { weight: 20, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE') },
  ),
});

const requestOf = (changes: Input, key: string): Request => {
  const sample = SAMPLES.get(changes.sample);
  if (!sample) throw new Error(`no sample ${changes.sample}`);
  const text = mutateJson(sample.text, changes.json);
  const body = Buffer.from(text);
  const headers = new Map([
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
    ...(changes.isPacked ? [['content-encoding', 'gzip'] as const] : []),
  ]);
  const replaced = changes.headers.filter(({ isAdded }) => !isAdded);
  const added = changes.headers.filter(({ isAdded }) => isAdded);
  for (const { name, value } of replaced) headers.set(name, value);
  return {
    method: changes.method ?? sample.method,
    path: Buffer.from(mutateBytes(Buffer.from(sample.path), changes.path)).toString('latin1'),
    headers: [...headers, ...added.map(({ name, value }): [string, string] => [name, value])],
    body: mutateBytes(changes.isPacked ? gzipSync(body) : body, changes.bytes),
  };
};

/** A path as the router knows it: without its query, and as the address that it is a variant of. */
const routeOf = ({ path }: Request): string =>
  readAddress(path.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0] ?? '').path;

let fleet: Fleet;
let closeUpstream: () => Promise<void>;
beforeAll(async () => {
  const upstream = await startInstantUpstream('secret');
  closeUpstream = upstream.close;
  // One target each: a second one would hide what the first was asked in the wrong way.
  const on = (protocol: Family, id: string) =>
    modelOn([targetAt(upstream.baseUrl(protocol), { protocol, upstream: protocol })], {
      id,
      vision: true,
    });
  fleet = await startFleet({
    models: [on('chat', 'vendor/model'), on('messages', 'vendor/other')],
    clock: systemClock,
  });
});
afterAll(async () => {
  await fleet.close();
  await closeUpstream();
});

test(
  'a mutated request gets a response of the expected form, and only a 200 costs a unit',
  async ({ annotate }) => {
    const [handler] = fleet.handlers;
    if (!handler) throw new Error('no router');
    const statuses = new Map<number, number>();
    let due = 0;
    await fuzz({
      share: SHARE,
      input,
      make: (value) => ({ front: value.front, request: requestOf(value, fleet.key) }),
      act: ({ front, request }) => deliver(handler, front, request),
      check: (answer, { request }) => {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        due += costOf(request.method, routeOf(request), answer);
        expectOwed(request.method, routeOf(request), answer);
      },
      show: ({ front, request: { method, path, headers, body } }) => {
        const text = Buffer.from(body).toString('latin1');
        const keyless = headers.map(
          ([name, value]) => `${name}: ${value.replace(fleet.key, 'KEY')}`,
        );
        return [front, `${method} ${path}`, ...keyless, text.length, text.slice(0, 2_000)].join(
          '\n',
        );
      },
      between: async () => expect(await fleet.charged()).toBe(due),
      annotate,
    });
    // Inputs that are all refused, or all answered, would test little.
    await annotate(`by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
    expect(statuses.get(200)).toBeGreaterThan(0);
    expect(statuses.get(400)).toBeGreaterThan(0);
  },
  timeoutOf(SHARE),
);
