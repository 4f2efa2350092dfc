import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createKeyLifecycle } from '../../../lambdas/keys/lifecycle.ts';
import { createTable } from '../../../lambdas/stores/dynamo/table.ts';
import type { Plan } from '../../../lambdas/stores/plan-store.ts';
import { listen } from '../../../local/loopback.ts';
import { createCountingClock } from '../../support/counting-clock.ts';
import { TABLE_NAMES } from '../../support/dynamo.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import { type Act, answer, status } from '../../support/fleet-upstream.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { withRouter } from '../../support/local.ts';
import { createLocalDynamoClient } from '../../support/local-aws.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { runCli } from '../../support/run-cli.ts';
import { send } from '../../support/send.ts';

/** A provider that does what `act` says at the moment. */
const startProvider = async () => {
  const provider = { act: answer as Act, calls: 0 };
  const server = createServer((request, response) => {
    provider.calls += 1;
    request.resume().on('end', () => provider.act(response));
  });
  return Object.assign(provider, await listen(server));
};
type Provider = Awaited<ReturnType<typeof startProvider>>;

const clock = createCountingClock(Date.parse('2026-11-24T12:00:00Z'));
let us: Provider;
let eu: Provider;
let fleet: Fleet;
const keys: Record<string, string> = {};

const catalogOf = (first: string, second: string) => {
  const inUs = targetAt(first, { upstream: 'us', region: 'us' });
  const inEu = targetAt(second, { upstream: 'eu', region: 'eu', retention: 'none' });
  const unlabelled = targetAt(first, { upstream: 'bare' });
  return [
    modelOn([inUs, inEu], { id: 'vendor/both' }),
    modelOn([inUs, unlabelled], { id: 'vendor/us' }),
  ];
};

beforeAll(async () => {
  [us, eu] = await Promise.all([startProvider(), startProvider()]);
  const models = catalogOf(us.url, eu.url);
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey, onDynamo: true });
  const lifecycle = createKeyLifecycle({ ...fleet.stores, clock, randomBytes });
  const listed = { id: 'listed', rpm: 1_000, quota: 1_000, period: 'month' } as const;
  await fleet.stores.plans.putPlan({ ...listed, models: ['vendor/both'] });
  keys.listed = (await lifecycle.create({ projectId: 'project', planId: 'listed' })).key;
  const plans: Record<string, Plan['require']> = {
    eu: { region: ['eu'] },
    strict: { region: ['eu', 'us'], retention: ['none'] },
    nowhere: { region: ['mars'] },
    any: undefined,
  };
  for (const [id, require] of Object.entries(plans)) {
    const plan = { id, rpm: 1_000, quota: 1_000, period: 'month' } as const;
    await fleet.stores.plans.putPlan({ ...plan, ...(require && { require }) });
    keys[id] = (await lifecycle.create({ projectId: 'project', planId: id })).key;
  }
});
afterAll(async () => {
  await fleet?.close();
  await Promise.all([us?.close(), eu?.close()]);
});
beforeEach(() => {
  for (const provider of [us, eu]) Object.assign(provider, { act: answer, calls: 0 });
});

type Family = readonly [path: string, body: object];
const FAMILIES: Family[] = [
  ['/v1/chat/completions', { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  ['/v1/responses', { input: 'hi' }],
];
const CHAT: Family = ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }];

const post = async ([path, body]: Family, model: string, plan?: string) => {
  const authorization = `Bearer ${plan === undefined ? fleet.key : keys[plan]}`;
  const sent = await send(fleet.urls[0] ?? '', path, {
    ...{ method: 'POST', headers: { authorization } },
    body: JSON.stringify({ ...body, model }),
  });
  return { ...sent, body: z.looseObject({}).parse(JSON.parse(sent.text)) };
};

const get = async (path: string, plan: string) => {
  const headers = { authorization: `Bearer ${keys[plan]}` };
  const { text } = await send(fleet.urls[0] ?? '', path, { headers });
  return z.looseObject({}).parse(JSON.parse(text));
};

describe('a key that requires labels', () => {
  const keyOf = async (plan: string, require: Plan['require']) => {
    const lifecycle = createKeyLifecycle({ ...fleet.stores, clock, randomBytes });
    const created = await lifecycle.create({
      ...{ projectId: 'project', planId: plan },
      ...(require && { require }),
    });
    keys[created.record.keyId] = created.key;
    return created.record;
  };

  test('a key of a plan without labels reaches the targets with its labels alone', async () => {
    const { keyId } = await keyOf('any', { region: ['eu'] });
    expect((await post(CHAT, 'vendor/both', keyId)).status).toBe(200);
    expect([us.calls, eu.calls]).toEqual([0, 1]);
    expect((await post(CHAT, 'vendor/us', keyId)).body).toMatchObject({
      error: { code: 'policy_not_met' },
    });
  });

  test('a target must have the labels of the key and those of its plan', async () => {
    const { keyId } = await keyOf('strict', { region: ['eu', 'mars'] });
    expect((await post(CHAT, 'vendor/both', keyId)).status).toBe(200);
    expect([us.calls, eu.calls]).toEqual([0, 1]);
    const neither = await keyOf('eu', { region: ['us'] });
    const { status: code, text } = await post(CHAT, 'vendor/both', neither.keyId);
    expect([code, us.calls]).toEqual([400, 0]);
    expect(text).toContain('requires region (none that both key and plan accept)');
  });

  test('a key keeps its labels, and loses them when they are removed', async () => {
    const lifecycle = createKeyLifecycle({ ...fleet.stores, clock, randomBytes });
    const record = await keyOf('any', { retention: ['none'] });
    const found = await fleet.stores.keys.findKey(record.hash);
    expect(found?.require).toEqual({ retention: ['none'] });
    const changed = await lifecycle.change(record, { require: null });
    expect(changed?.after.require).toBeUndefined();
  });
});

describe('a body that names other models or providers than the router', () => {
  const MODELS = [
    { models: ['other'] },
    { fallbacks: [{ model: 'other' }] },
    { providerOptions: { gateway: { models: ['other'] } } },
    { extra_body: { models: ['other'] } },
    { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'other' }] },
    { tools: [{ type: 'openrouter:advisor', parameters: { model: 'other' } }] },
  ];
  const PROVIDERS = [
    { provider: { only: ['other'] } },
    { providerOptions: { gateway: { order: ['other'] } } },
    { inference_geo: 'global' },
  ];
  const ADDRESSES = [{ api_base: 'http://other' }, { api_key: 'sk-other' }];
  const statusesOf = async ([path, body]: Family, members: object[], plan: string) => {
    const sent = members.map((one) => post([path, { ...body, ...one }], 'vendor/both', plan));
    return (await Promise.all(sent)).map(({ status: code }) => code);
  };

  test.each(FAMILIES)(
    'a request of %s whose plan has models or labels gets 400 that names the member, and calls nobody',
    async (...family) => {
      for (const plan of ['listed', 'eu']) {
        const refused = plan === 'eu' ? [...MODELS, ...PROVIDERS] : MODELS;
        const statuses = await statusesOf(family, [...refused, ...ADDRESSES], plan);
        expect(new Set(statuses), plan).toEqual(new Set([400]));
      }
      expect([us.calls, eu.calls]).toEqual([0, 0]);
      const { text } = await post([family[0], { ...family[1], ...MODELS[2] }], 'vendor/both', 'eu');
      expect(text).toContain("so 'providerOptions.gateway.models' may not name others.");
    },
  );

  test('a plan without models and labels may name models and providers, and no address', async () => {
    const named = [...MODELS.slice(0, 3), ...PROVIDERS];
    expect(new Set(await statusesOf(CHAT, named, 'any'))).toEqual(new Set([200]));
    for (const family of FAMILIES)
      expect(await statusesOf(family, ADDRESSES, 'any')).toEqual([400, 400]);
    expect(new Set(await statusesOf(CHAT, PROVIDERS, 'listed'))).toEqual(new Set([200]));
  });

  test('a plan with models takes empty members and tools of the caller', async () => {
    const parameters = { type: 'object', properties: { model: { type: 'string' } } };
    const own = { type: 'function', function: { name: 'pick', parameters } };
    const harmless = [{ models: [] }, { fallbacks: null }, { tools: [own] }];
    expect(await statusesOf(CHAT, harmless, 'listed')).toEqual([200, 200, 200]);
  });
});

describe('a plan that requires labels', () => {
  test.each(FAMILIES)(
    'a request of %s goes to a target with the label, never to another',
    async (...family) => {
      for (const plan of ['eu', 'strict'])
        expect((await post(family, 'vendor/both', plan)).status).toBe(200);
      expect([us.calls, eu.calls]).toEqual([0, 2]);
      expect((await post(family, 'vendor/both')).status).toBe(200);
      expect(us.calls).toBe(1);
    },
  );

  test('a request whose target fails is not failed over to one without the label', async () => {
    eu.act = status(500);
    expect((await post(CHAT, 'vendor/both', 'eu')).status).toBeGreaterThanOrEqual(500);
    expect([us.calls, eu.calls]).toEqual([0, 1]);
  });

  test.each(FAMILIES)(
    'a request of %s for a model without such a target gets 400 that names the policy, and calls none',
    async (...family) => {
      const before = await get('/v1/usage', 'strict');
      const { status: code, body } = await post(family, 'vendor/us', 'strict');
      expect(code).toBe(400);
      expect(JSON.stringify(body)).toContain(
        "Your key or its plan requires region eu or us and retention none, and no provider of the model 'vendor/us' has it.",
      );
      expect([us.calls, eu.calls]).toEqual([0, 0]);
      expect((await get('/v1/usage', 'strict')).period).toEqual(before.period);
    },
  );

  test('a count for a model without such a target gets 400', async () => {
    const { status: code } = await post(
      ['/v1/messages/count_tokens', CHAT[1]],
      ...(['vendor/us', 'eu'] as const),
    );
    expect(code).toBe(400);
  });

  test('the models of a plan are those that have such a target', async () => {
    const ids = async (plan: string) =>
      z.array(z.looseObject({ id: z.string() })).parse((await get('/v1/models', plan)).data);
    expect((await ids('eu')).map(({ id }) => id)).toEqual(['vendor/both']);
    expect(await ids('nowhere')).toEqual([]);
  });

  test('the record has the policy, the labels of the target and why it was chosen', async () => {
    const recordOf = async (plan: string) => {
      const { headers } = await post(CHAT, 'vendor/both', plan);
      return get(`/v1/requests/${headers['x-request-id']}`, plan);
    };
    expect(await recordOf('eu')).toMatchObject({
      required: { region: ['eu'] },
      why_target: 'No other target meets what its plan or key requires.',
      attempts: [{ upstream: 'eu', region: 'eu', retention: 'none' }],
    });
  });

  test('an earlier release does not understand the stored plan, until its policy is removed', async () => {
    const { plans } = fleet.stores;
    const client = createLocalDynamoClient(fleet.tablesUrl());
    const readPlanItem = () =>
      createTable({ client, tableName: TABLE_NAMES.plans }).read('changed');
    const plan = { id: 'changed', rpm: 1, quota: 1, period: 'month' } as const;
    await plans.createPlan({ ...plan, require: { region: ['eu'] } });
    expect(await plans.findPlan('changed')).toEqual({ ...plan, require: { region: ['eu'] } });
    expect((await readPlanItem())?.needs).toEqual(['require']);
    await plans.changePlan('changed', ({ require: _, ...rest }) => rest);
    expect(await plans.findPlan('changed')).toEqual(plan);
    expect(await readPlanItem()).not.toHaveProperty('needs');
  });
});

test('an operator requires labels of a plan by the CLI, and those that no target has are rejected', async () => {
  const catalog = catalogOf('https://us.test/v1', 'https://eu.test/v1');
  await withRouter({ catalog, secrets: { secret: CANARIES.upstreamKey } }, async (router) => {
    const run = (...args: string[]) => runCli([...args, '--url', router.baseUrl, '--json']);
    const create = ['plans', 'create', 'p', '--rpm', '1', '--quota', '1', '--period', 'day'];
    const unknown = await run(...create, '--require', 'region=moon');
    expect([unknown.code, unknown.err]).toEqual([
      1,
      expect.stringContaining('labelled region moon'),
    ]);
    const apart = await run(...create, '--require', 'region=us', '--require', 'retention=none');
    expect(apart.err).toContain('labelled region us and retention none');
    const labels = [
      '--require',
      'region=eu',
      '--require',
      'region=us',
      '--require',
      'retention=none',
    ];
    const { code, out } = await run(...create, ...labels);
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { require: { region: ['eu', 'us'], retention: ['none'] } },
    ]);
    const removed = await run('plans', 'set', 'p', '--require', 'none');
    expect(JSON.parse(removed.out)).not.toHaveProperty('require');
    expect((await run('plans', 'set', 'p', '--require', 'eu')).code).toBe(2);
  });
});
