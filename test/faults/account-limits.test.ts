import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import { listen } from '../../local/loopback.ts';
import refusals from '../fixtures/provider-refusals.json' with { type: 'json' };
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Act, answer } from '../support/fleet-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { post, withRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

/** A provider that does what `act` says at the moment, for all tests of the file. */
const startProvider = async (act: Act = answer) => {
  const provider = { act, attempts: 0 };
  const server = createServer((request, response) => {
    provider.attempts += 1;
    request.resume().on('end', () => provider.act(response));
  });
  return Object.assign(provider, await listen(server));
};
type Provider = Awaited<ReturnType<typeof startProvider>>;

const clock = createCountingClock(Date.parse('2026-11-24T12:00:00Z'));
let [a, b, other]: Provider[] = [];
let fleet: Fleet;
let models = 0;
/** Each test has a model of its own, whose breakers are closed. */
const nextModel = (kind: string) => `${kind}/${models}`;

const refuse =
  (body: unknown, headers: Record<string, string> = {}): Act =>
  (response) =>
    void response.writeHead(429, headers).end(JSON.stringify(body));

const at = (provider: Provider | undefined, number: number, extra: Partial<Target>): Target =>
  targetAt(provider?.url ?? '', { model: `large-${number}`, ...extra });

beforeAll(async () => {
  [a, b, other] = await Promise.all([startProvider(), startProvider(), startProvider()]);
  const catalog = Array.from({ length: 30 }, (_, number) => {
    const acme = { account: 'acme' };
    const shared = at(b, number, { ...acme, upstream: 'b' });
    const spare = at(other, number, { upstream: 'other' });
    const first = at(a, number, { ...acme, upstream: 'a' });
    return [
      modelOn([first], { id: `single/${number}` }),
      modelOn([first, shared, spare], { id: `shared/${number}` }),
      modelOn([first, { ...shared, model: `small-${number}` }, spare], { id: `mixed/${number}` }),
      modelOn([first, { ...shared, account: 'second' }], { id: `apart/${number}` }),
    ];
  });
  fleet = await startFleet({ models: catalog.flat(), clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet?.close();
  await Promise.all([a, b, other].map((one) => one?.close()));
});
beforeEach(() => {
  models += 1;
  for (const one of [a, b, other]) {
    if (!one) continue;
    one.act = answer;
    one.attempts = 0;
  }
});

const ask = (model: string, key = fleet.key) =>
  send(fleet.urls[0] ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
  });

const calls = () => [a, b, other].map((one) => one?.attempts);

/** The last for tests in which all must be served. */
const askBoth = async (model: string) => {
  for (const key of [fleet.key, fleet.otherKey]) expect((await ask(model, key)).status).toBe(200);
};

describe('a 429 of a provider', () => {
  test.each(refusals)('the refusal of $provider gets the answer that it means', async (one) => {
    if (a) a.act = refuse(one.body, one.headers as unknown as Record<string, string>);
    const { status, headers } = await ask(nextModel('single'));
    if (one.seconds === 'never') {
      expect([status, headers['x-should-retry']]).toEqual([502, 'false']);
      expect(fleet.lines().at(-1)).toMatchObject({ fault: 'no-quota' });
    } else {
      const seconds = one.seconds === null ? 10 : Math.max(1, Math.ceil(Number(one.seconds)));
      expect([status, headers['retry-after']]).toEqual([503, String(seconds)]);
    }
  });

  test('a 429 that names a time holds off the targets of its account, for all after the second project', async () => {
    const model = nextModel('shared');
    if (a) a.act = refuse({}, { 'retry-after': '30' });
    await askBoth(model);
    expect(calls()).toEqual([2, 0, 2]);
    // Not before the time that the provider has named.
    clock.advance(29_900);
    await askBoth(model);
    expect(calls()).toEqual([2, 0, 4]);
    clock.advance(16_000);
    if (a) a.act = answer;
    await askBoth(model);
    expect(calls()[0]).toBeGreaterThan(2);
  });

  test('a 429 that names an hour is not asked again each minute', async () => {
    const model = nextModel('shared');
    if (a) a.act = refuse({}, { 'retry-after': '3600' });
    await askBoth(model);
    for (let minute = 0; minute < 5; minute += 1) {
      clock.advance(60_000);
      await askBoth(model);
    }
    expect(calls()).toEqual([2, 0, 12]);
  });

  test('a 429 of one project alone holds off the account for none of the others', async () => {
    const model = nextModel('shared');
    if (a) a.act = refuse({}, { 'retry-after': '30' });
    await ask(model);
    if (a) a.act = answer;
    await ask(model, fleet.otherKey);
    expect(calls()).toEqual([2, 0, 1]);
  });

  test.each([
    ['without a time', 'shared', {}],
    ['of another account', 'apart', { 'retry-after': '30' }],
    ['of another model of the account', 'mixed', { 'retry-after': '30' }],
  ])('a 429 %s is followed by the next target', async (_, kind, headers) => {
    if (a) a.act = refuse({}, headers);
    await ask(nextModel(kind));
    expect(calls()).toEqual([1, 1, 0]);
  });

  test('an account without money is not asked by the second target, nor again for five minutes', async () => {
    const model = nextModel('mixed');
    if (a) a.act = refuse({ error: { type: 'insufficient_quota', message: 'No credit.' } });
    await askBoth(model);
    expect(calls()).toEqual([2, 0, 2]);
    for (let minute = 0; minute < 3; minute += 1) {
      clock.advance(60_000);
      await askBoth(model);
    }
    expect(calls()).toEqual([2, 0, 8]);
    clock.advance(4 * 60_000);
    if (a) a.act = answer;
    await askBoth(model);
    expect(calls()[0]).toBeGreaterThan(2);
  });
});

const Attempts = z.object({ attempts: z.array(z.looseObject({ upstream: z.string() })) });
const Found = z.object({ data: z.array(z.looseObject({ place: z.string() })) });
const Checks = z.object({ checks: z.array(z.looseObject({ check: z.string() })) });

test('what a provider states of its limits is in the record, the list of targets, the doctor and the metrics, and not for callers', async () => {
  const provider = await startProvider((response) => {
    response.setHeader('x-ratelimit-limit-requests', '1000');
    response.setHeader('x-ratelimit-remaining-requests', '99');
    response.setHeader('x-ratelimit-remaining-tokens', '5');
    answer(response);
  });
  const catalog = [
    modelOn([targetAt(provider.url, { account: 'acme', model: 'large' })]),
    modelOn([targetAt(provider.url, { model: 'unused' })], { id: 'vendor/unused' }),
  ];
  try {
    await withRouter({ catalog, secrets: { secret: CANARIES.upstreamKey } }, async (router) => {
      const body = { model: 'vendor/model', messages: [{ role: 'user', content: 'hi' }] };
      const sent = await post(router, '/v1/chat/completions', body);
      const id = sent.headers.get('x-request-id') ?? '';
      await sent.text();
      const get = async (path: string): Promise<unknown> => {
        const headers = { authorization: `Bearer ${router.key}` };
        return (await fetch(router.baseUrl + path, { headers })).json();
      };
      const limits = 'requests/minute 99/1000, tokens/minute 5';
      const ofOperator = () => get(`/admin/requests/${id}`);
      await expect.poll(ofOperator).toMatchObject({ attempts: [{ limits }] });
      const { attempts } = Attempts.parse(await get(`/v1/requests/${id}`));
      expect(attempts.map((one) => Object.hasOwn(one, 'limits'))).toEqual([false]);
      const [used, unused] = Found.parse(await get('/admin/targets')).data;
      expect(used).toMatchObject({ account: 'acme', limits });
      expect(unused).not.toHaveProperty('limits');
      const { checks } = Checks.parse(await get('/admin/checks'));
      expect(checks.filter(({ check }) => check === 'limits')).toEqual([
        expect.objectContaining({
          ...{ result: 'warning', place: '[0].targets[0]' },
          reason: expect.stringMatching(`had for acme large left: ${limits}\\.$`),
        }),
      ]);
      const scraped = async (query: string) => {
        const response = await fetch(`${router.baseUrl}/admin/metrics${query}`);
        return (await response.text()).split('\n').filter((line) => line.includes('acme'));
      };
      expect(await scraped('')).toEqual([]);
      expect(await scraped('?limits=true')).toEqual([
        'model_router_provider_limit_left{quota="acme large",of="requests",per="minute"} 99',
        'model_router_provider_limit_left{quota="acme large",of="tokens",per="minute"} 5',
        'model_router_provider_limit{quota="acme large",of="requests",per="minute"} 1000',
      ]);
    });
  } finally {
    await provider.close();
  }
});
