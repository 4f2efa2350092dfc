import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { startInstantUpstream } from '../support/instant-upstream.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { fc } from '../support/seeds.ts';
import { send } from '../support/send.ts';
import { fuzz, timeoutOf } from './fuzz.ts';
import { byteMutation, mutateBytes, splitBytes, splits } from './mutate-bytes.ts';
import { talk } from './raw-connection.ts';
import { type Answer, readHttp } from './read-http.ts';
import { some } from './wire-inputs.ts';

const SHARE = 0.2;
/** Over any limit of a head. Thousands of requests on one connection at once no platform lets through. */
const MOST_BYTES = 20_000;

/** Stands for the key in the samples; as long, so that a cut is at the same place in every run. */
const KEY = 'K'.repeat(40);
const HEAD = `host: router\r\nx-api-key: ${KEY}\r\n`;

const post = (path: string, body: object, headers = '') => {
  const text = JSON.stringify({ model: 'vendor/model', max_tokens: 9, ...body });
  return `POST ${path} HTTP/1.1\r\n${HEAD}${headers}content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
};
const chunked = (text: string) =>
  `POST /v1/messages/count_tokens HTTP/1.1\r\n${HEAD}transfer-encoding: chunked\r\n\r\n` +
  `${text
    .match(/.{1,9}/g)
    ?.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    .join('')}0\r\n\r\n`;

const USER = { messages: [{ role: 'user', content: 'hi' }] };
const MODELS = `GET /v1/models HTTP/1.1\r\n${HEAD}\r\n`;
const SAMPLES: Record<string, string> = {
  models: MODELS,
  'HTTP/1.0': `GET /v1/models HTTP/1.0\r\n${HEAD}\r\n`,
  'an address in full': `GET http://router/v1/models HTTP/1.1\r\n${HEAD}\r\n`,
  unauthenticated: 'GET /v1/models HTTP/1.1\r\nhost: router\r\n\r\n',
  greeting: 'GET / HTTP/1.1\r\nhost: router\r\nconnection: close\r\n\r\n',
  chat: post('/v1/chat/completions', USER),
  'chat stream': post('/v1/chat/completions', { ...USER, stream: true }),
  messages: post('/v1/messages', USER),
  'messages stream': post('/v1/messages', { ...USER, stream: true }),
  'asks before it sends': post('/v1/messages/count_tokens', USER, 'expect: 100-continue\r\n'),
  'in chunks': chunked(JSON.stringify({ model: 'vendor/model', ...USER })),
  pipelined: MODELS + post('/v1/messages', { ...USER, stream: true }) + MODELS,
};

const connection = fc.record({
  sample: fc.constantFrom(...Object.keys(SAMPLES)),
  bytes: some(9, byteMutation),
  /** What is sent behind the changed bytes on the same connection. */
  after: fc.constantFrom('nothing', 'models', 'greeting'),
  splits,
});

let fleet: Fleet;
let closeUpstream: () => Promise<void>;
beforeAll(async () => {
  const upstream = await startInstantUpstream('secret');
  closeUpstream = upstream.close;
  fleet = await startFleet({
    models: [modelOn([targetAt(upstream.baseUrl('chat'))])],
    clock: systemClock,
  });
});
afterAll(async () => {
  await fleet.close();
  await closeUpstream();
});

const withKey = (text: string): Buffer => Buffer.from(text.replaceAll(KEY, fleet.key));

const expectCivil = ({ status, headers, body }: Answer) => {
  expect(status, body.toString('utf8').slice(0, 300)).toBeLessThan(500);
  // Told by Node itself before any request is read.
  if (status !== 100) expect(headers['x-request-id']).toMatch(/^req_[0-9A-Za-z]{24}$/);
};

test(
  'a connection with mutated bytes gets a valid response or is closed, and the server keeps serving',
  async ({ annotate }) => {
    const statuses = new Map<number, number>();
    const [url = ''] = fleet.urls;
    await fuzz({
      share: SHARE,
      // Many at once: most of each one's time is waiting.
      input: fc.array(connection, { minLength: 1, maxLength: 16, size: 'max' }),
      make: (connections) =>
        connections.map(({ sample, bytes, after, splits: places }) => {
          const changed = mutateBytes(withKey(SAMPLES[sample] ?? ''), bytes, MOST_BYTES);
          const last = withKey(SAMPLES[after] ?? '');
          return [...splitBytes(changed, places), ...(last.length > 0 ? [last] : [])];
        }),
      act: async (connections) => {
        const heard = await Promise.all(connections.map((pieces) => talk(url, pieces)));
        const good = await send(url, '/v1/models', { headers: { 'x-api-key': fleet.key } });
        return { heard, good };
      },
      check: ({ heard, good }) => {
        for (const bytes of heard) {
          for (const answer of readHttp(bytes).answers) {
            statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
            expectCivil(answer);
          }
        }
        expect(good.status).toBe(200);
      },
      show: (connections) =>
        connections
          .map((pieces) =>
            pieces
              .map((piece) => JSON.stringify(Buffer.from(piece).toString('latin1').slice(0, 2_000)))
              .join('\n'),
          )
          .join('\n---\n')
          .replaceAll(fleet.key, 'KEY'),
      size: (connections) => connections.length,
      annotate,
    });
    await annotate(`by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
    expect(statuses.get(200)).toBeGreaterThan(0);
    expect(statuses.get(400)).toBeGreaterThan(0);
  },
  timeoutOf(SHARE),
);
