import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { doctorHandlers } from '../../lambdas/admin/doctor.ts';
import { type Model, Target } from '../../lambdas/catalog/parse-models.ts';
import { presetOf } from '../../lambdas/catalog/preset-age.ts';
import { createLessons } from '../../lambdas/routing/lessons.ts';
import { DAY_MS } from '../../lambdas/support/clock.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { drawFrom } from '../lambdas/catalog/counting/compose-requests.ts';
import { CLAUDE_GENERATIONS, refusalOf } from '../support/claude-generations.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { fixedSecrets } from '../support/fixed-secrets.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Generated,
  type GenerationUpstream,
  type Refusal,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

type Rule = (request: Generated) => Refusal;

const generation = (name: string): Rule => {
  const found = CLAUDE_GENERATIONS[name];
  if (!found) throw new Error(`no generation ${name}`);
  return refusalOf(found);
};
const BUDGET = generation('claude-4.5');
const ADAPTIVE = generation('claude-4.7');

/** A model behind the messages protocol that cannot think. */
const THOUGHTLESS: Rule = ({ body }) => {
  const { type } = (body.thinking ?? {}) as { type?: string };
  if (type === 'adaptive') return 'adaptive thinking is not supported on this model';
  if (type !== undefined) return `"thinking.type.${type}" is not supported for this model.`;
  return body.output_config ? 'This model does not support the effort parameter.' : undefined;
};

const capNamed =
  (accepted: string, rejected: string): Rule =>
  ({ body }) =>
    body[rejected] === undefined
      ? undefined
      : `Unsupported parameter: '${rejected}' is not supported with this model. Use '${accepted}' instead.`;
const OLD_CAP = capNamed('max_tokens', 'max_completion_tokens');
const NEW_CAP = capNamed('max_completion_tokens', 'max_tokens');

/** What the provider rejects at the moment. */
let rule: Rule;

const PROFILES = {
  'no profile': undefined,
  'enabled alone': { thinking: ['enabled'] },
  'the preset claude-4.5': 'claude-4.5',
  'the preset claude-4.7': 'claude-4.7',
};
const NAMES = Object.keys(PROFILES) as (keyof typeof PROFILES)[];

const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
let upstream: GenerationUpstream;
let fleet: Fleet;
let models: Model[];

const writesOf = (): number =>
  fleet.lines().filter(({ event }) => event === 'target_learned').length;

beforeAll(async () => {
  upstream = await startGenerationUpstream((request) => rule(request));
  const create = (id: string, options: object) =>
    modelOn([Target.parse({ ...targetAt(upstream.url), model: id, ...options })], {
      id: `vendor/${id}`,
    });
  models = [
    ...NAMES.map((name) =>
      create(name.replaceAll(' ', '-'), { protocol: 'messages', profile: PROFILES[name] }),
    ),
    create('chat', { protocol: 'chat' }),
  ];
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey, size: 2 });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});
afterEach(() => {
  // Every lesson is forgotten.
  clock.advance(2 * DAY_MS);
});

const EFFORT = { reasoning_effort: 'medium' };

const ask = async (name: string, { fields = EFFORT as object, router = 0 } = {}) => {
  const { status } = await send(fleet.urls[router] ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${router === 0 ? fleet.key : fleet.otherKey}` },
    body: JSON.stringify({
      model: `vendor/${name.replaceAll(' ', '-')}`,
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 20_000,
      ...fields,
    }),
  });
  const calls = upstream.take();
  return { status, calls: calls.length, body: calls.at(-1)?.body ?? {} };
};

/** Asks once at the router that learns, and then at both after the minute in which lessons are shared. */
const askAll = async (name: string) => {
  const first = await ask(name);
  clock.advance(61_000);
  const later = [await ask(name), await ask(name, { router: 1 })];
  return { first, later };
};

describe('a provider that changes its model', () => {
  test.each(NAMES)(
    'a target with %s thinks in the new form after one more call of one environment, however often it changes',
    async (name) => {
      for (const turn of [ADAPTIVE, BUDGET, ADAPTIVE, BUDGET]) {
        rule = turn;
        const { first, later } = await askAll(name);
        expect(first.calls).toBeLessThanOrEqual(2);
        for (const { status, calls, body } of [first, ...later]) {
          expect([status, body.thinking, body.output_config]).toEqual(
            turn === ADAPTIVE
              ? [200, { type: 'adaptive', display: 'summarized' }, { effort: 'medium' }]
              : [200, { type: 'enabled', budget_tokens: 8_192 }, undefined],
          );
          expect(calls).toBe(body === first.body ? first.calls : 1);
        }
      }
    },
  );

  test('a token cap follows the name that the provider accepts, in both directions', async () => {
    for (const turn of [NEW_CAP, OLD_CAP, NEW_CAP]) {
      rule = turn;
      const { first, later } = await askAll('chat');
      expect([first, ...later].map(({ status, calls }) => [status, calls])).toEqual([
        [200, 2],
        [200, 1],
        [200, 1],
      ]);
    }
  });

  test('a provider that rejects both names of the token cap is called three times a request, and teaches no lesson', async () => {
    rule = (request) => NEW_CAP(request) ?? OLD_CAP(request);
    const results = [await ask('chat'), await ask('chat')];
    expect(results.map(({ status, calls }) => [status, calls])).toEqual([
      [400, 3],
      [400, 3],
    ]);
  });

  test("a caller's mistake is the caller's 400 while the model changes, and the lesson stays right", async () => {
    rule = BUDGET;
    await ask('no profile');
    rule = (request) =>
      request.body.top_k === 7
        ? 'top_k: Input should be less than or equal to 5'
        : ADAPTIVE(request);
    const mistaken = await ask('no profile', { fields: { top_k: 7 } });
    expect([mistaken.status, mistaken.calls]).toEqual([400, 1]);
    const { status, body } = await ask('no profile');
    expect([status, body.thinking]).toMatchObject([200, { type: 'adaptive' }]);
  });
});

test('a form that both versions of a model behind one address led to is sent once more, and teaches no lesson', async () => {
  const rejections = [
    "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
  ];
  rule = () => rejections.shift();
  const first = await ask('no profile');
  expect([first.status, first.calls, first.body.thinking]).toMatchObject([
    200,
    3,
    { type: 'adaptive' },
  ]);
  rule = ADAPTIVE;
  const next = await ask('no profile');
  expect([next.status, next.calls, next.body.thinking]).toMatchObject([
    200,
    1,
    { type: 'adaptive' },
  ]);
});

test.each([5, 20, 50])(
  'of 200 requests at most 2 percent fail while %i percent of a provider are of an older version, and a lesson is written at most 10 times',
  async (share) => {
    const draw = drawFrom(share);
    rule = (request) => (draw(100) < share ? BUDGET(request) : ADAPTIVE(request));
    const before = writesOf();
    const statuses: number[] = [];
    for (let index = 0; index < 200; index += 1) {
      statuses.push((await ask('no profile')).status);
      clock.advance(1_000);
    }
    expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(4);
    expect(writesOf() - before).toBeLessThanOrEqual(10);
  },
);

describe('a model that never thinks', () => {
  test.each(NAMES)(
    'behind a target with %s it answers without thinking from the first request on, which learns it for all',
    async (name) => {
      rule = THOUGHTLESS;
      const { first, later } = await askAll(name);
      expect(first.calls).toBeLessThanOrEqual(3);
      expect(later.map(({ calls }) => calls)).toEqual([1, 1]);
      for (const { status, body } of [first, ...later]) {
        expect([status, body.thinking, body.output_config]).toEqual([200, undefined, undefined]);
      }
    },
  );

  test('thinking that a caller turns off costs one more call, once', async () => {
    rule = THOUGHTLESS;
    await ask('no profile');
    const off = { fields: { reasoning_effort: 'none' } };
    const results = [await ask('no profile', off), await ask('no profile', off)];
    expect(results.map(({ status, calls }) => [status, calls])).toEqual([
      [200, 2],
      [200, 1],
    ]);
    expect((await ask('no profile')).calls).toBe(1);
  });
});

test('doctor is silent about a provider that came back to what the profile states', async () => {
  const secrets = fixedSecrets('secret');
  const http = createHttpUpstream({ secrets, clock });
  const { checks: check } = doctorHandlers({
    ...fleet.stores,
    models,
    readQuotas: async () => [],
    secrets,
    upstream: http,
    clock,
    presetOf,
  });
  const warnings = async () => {
    const { checks } = (await check()).body;
    return checks.filter((one) => one.check === 'profile').map(({ reason }) => reason);
  };
  rule = ADAPTIVE;
  await ask('the preset claude-4.5');
  expect(await warnings()).toEqual([expect.stringContaining('"thinking":["adaptive","disabled"]')]);
  rule = BUDGET;
  await ask('the preset claude-4.5');
  expect(await warnings()).toEqual([]);
});

test('a member of a lesson ends a day after it was learned, although others are learned each hour', async () => {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const lessons = createLessons({ store: fleet.stores.lessons, clock, log });
  const other = createLessons({ store: fleet.stores.lessons, clock, log });
  const target = Target.parse({ ...targetAt(upstream.url), model: 'aging' });
  await lessons.learn(target, { sampling: [] }, 'project');
  const kept: boolean[] = [];
  for (let hour = 1; hour <= 25; hour += 1) {
    clock.advance(3_600_000);
    const { profile } = await lessons.adapt(target);
    kept.push(profile?.sampling !== undefined);
    const betasWithout = [`x-${hour}-2025-01-01`];
    await lessons.learn(target, { ...profile, betasWithout }, `project-${hour}`);
  }
  expect(kept.indexOf(false)).toBe(23);
  const { profile } = await other.adapt(target);
  const betasWithout = Array.from({ length: 25 }, (_, hour) => `x-${hour + 1}-2025-01-01`);
  expect(profile).toEqual({ betasWithout });
});
