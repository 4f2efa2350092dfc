import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCatalog } from '../../../lambdas/catalog/catalog.ts';
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import { startGenerationUpstream } from '../../support/generation-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';
import { parseJson } from '../../support/sse-text.ts';

const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
let fleet: Fleet;
let limitedKey: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  const upstream = await startGenerationUpstream();
  stop = upstream.close;
  const targets = [targetAt(upstream.url)];
  const models = [
    modelOn(targets, { id: 'vendor/large', aliases: ['gpt-4o', 'claude-sonnet-4-5'] }),
    modelOn(targets, { id: 'vendor/small', aliases: ['mini'] }),
    modelOn(targets, { id: 'vendor/nested/mini' }),
  ];
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
  const plan = { id: 'limited', rpm: 100, quota: 100, period: 'month' } as const;
  await fleet.stores.plans.putPlan({ ...plan, models: ['vendor/small'] });
  const lifecycle = createKeyLifecycle({ ...fleet.stores, clock, randomBytes });
  limitedKey = (await lifecycle.create({ projectId: 'limited', planId: 'limited' })).key;
});
afterAll(async () => {
  await fleet.close();
  await stop();
});

const ask = async (model: string, { key = fleet.key, path = '/v1/chat/completions' } = {}) => {
  const sent = await send(fleet.urls[0] ?? '', path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(
      path === '/v1/responses'
        ? { model, input: 'hi' }
        : { model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    ),
  });
  return { ...sent, body: parseJson(sent.text) as Record<string, unknown> };
};

const get = async (path: string) => {
  const headers = { authorization: `Bearer ${fleet.key}` };
  const { status, text } = await send(fleet.urls[0] ?? '', path, { headers });
  return { status, body: parseJson(text) as Record<string, unknown> };
};

describe('names of a model', () => {
  test.each([
    ['an alias', 'gpt-4o', 'vendor/large'],
    ['its id behind a client prefix', 'openai/vendor/large', 'vendor/large'],
    ['an alias behind a client prefix', 'openai/gpt-4o', 'vendor/large'],
    ['an alias behind two client prefixes', 'litellm_proxy/anthropic/mini', 'vendor/small'],
    [
      'its exact id, whose end is an alias of another model',
      'vendor/nested/mini',
      'vendor/nested/mini',
    ],
  ])('a request that names a model by %s gets 200 with its id', async (_, name, id) => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses']) {
      const { status, body } = await ask(name, { path });
      expect([status, body.model]).toEqual([200, id]);
    }
  });

  test('a name whose ends name two models gets 400 and takes no unit', async () => {
    const before = await fleet.charged();
    const { status, body } = await ask('openai/vendor/nested/mini');
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'model_not_found', param: 'model' });
    expect(await fleet.charged()).toBe(before);
  });

  test('an alias of a model outside the plan gets 400 that says so, and does not name the model', async () => {
    const { status, text } = await ask('gpt-4o', { key: limitedKey });
    expect(status).toBe(400);
    expect(text).toContain("The model 'gpt-4o' is not in the models of your key.");
    expect(text).not.toContain('vendor/large');
    expect(await ask('mini', { key: limitedKey })).toMatchObject({ status: 200 });
  });

  test('the list of models has each model once, by its id, without aliases', async () => {
    const { body } = await get('/v1/models');
    const data = body.data as Record<string, unknown>[];
    expect(data.map(({ id }) => id)).toEqual([
      'vendor/large',
      'vendor/small',
      'vendor/nested/mini',
    ]);
    expect(JSON.stringify(body)).not.toContain('gpt-4o');
    expect(await get('/v1/models/gpt-4o')).toMatchObject({
      status: 200,
      body: { id: 'vendor/large' },
    });
  });

  test('the record and the log line of a request that used an alias name the id', async () => {
    const { headers } = await ask('claude-sonnet-4-5');
    const { body } = await get(`/v1/requests/${headers['x-request-id']}`);
    expect(body).toMatchObject({ model: 'vendor/large' });
    expect(fleet.logText()).not.toContain('claude-sonnet-4-5');
  });
});

describe('the names of a catalog', () => {
  const named = (id: string, aliases: string[]) =>
    modelOn([targetAt('http://a.test')], { id, aliases });

  test.each([
    ['an id and an alias', [named('v/a', []), named('v/b', ['v/a'])], '[1].aliases[0]'],
    ['an alias of two models', [named('v/a', ['x']), named('v/b', ['x'])], '[1].aliases[0]'],
    ['an alias of one model twice', [named('v/a', ['x', 'x'])], '[0].aliases[1]'],
    ['the id of two models', [named('v/a', []), named('v/a', [])], '[1].id'],
  ])(
    'a catalog in which one name is %s is rejected with the path of the second',
    (_, models, path) => {
      expect(() => parseModels(models)).toThrow(path);
    },
  );

  test('a name of 100,000 slashes is not found in 50 ms of CPU', () => {
    const catalog = createCatalog([named('v/a', ['x'])]);
    const find = () => expect(catalog.find(`${'/'.repeat(100_000)}x`, {})).toBeUndefined();
    expect(cpuMsOf(find)).toBeLessThan(50);
  });
});
