import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { doctorHandlers } from '../../lambdas/admin/doctor.ts';
import { type Model, Target } from '../../lambdas/catalog/parse-models.ts';
import { presetOf } from '../../lambdas/catalog/preset-age.ts';
import type { Profile } from '../../lambdas/protocols/profile.ts';
import { differenceIn } from '../../lambdas/protocols/rejections/read-difference.ts';
import { sealThinking } from '../../lambdas/protocols/thinking/sealed.ts';
import { DAY_MS } from '../../lambdas/support/clock.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
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
import { GPT_GENERATIONS, gptRefusalOf } from '../support/gpt-generations.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { PROVIDER_ERRORS, textOf } from '../support/provider-errors.ts';
import { bodyOf, FORMS, type Form, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';

const CLAUDES = Object.keys(CLAUDE_GENERATIONS);
const GPTS = Object.keys(GPT_GENERATIONS);

/** Refuses a history that holds `seal`, with these words. */
const without =
  (seal: string, words: string) =>
  ({ body }: Generated): Refusal =>
    JSON.stringify(body).includes(seal) ? words : undefined;

/** Other differences, in the providers' words. */
const OTHERS: Record<string, (request: Generated) => Refusal> = {
  'other-cap': ({ body }) =>
    body.max_tokens === undefined
      ? undefined
      : "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  'other-history': without(
    '"signature"',
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
  ),
  'modified-history': without(
    '"signature"',
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
  ),
  'sealed-history': without('gAAAAABo', 'The encrypted content gAAA...ABo could not be verified.'),
  'sealed-history-of-an-item': without(
    'gAAAAABo',
    'The encrypted content for item rs_0a18166210d72b5e0069fd938e69a08193a992a58d690a224b could not be verified. Reason: Encrypted content item_id did not match the target item id.',
  ),
  mistaken: ({ body }) =>
    body.temperature === 0.9 ? 'temperature: Input should be at most 0.5' : undefined,
  'other-sampling': ({ body }) =>
    body.temperature === undefined ? undefined : '`temperature` is deprecated for this model.',
  'other-betas': ({ headers }) => {
    const beta = headers['anthropic-beta'];
    return beta && `Unexpected value(s) \`${beta}\` for the \`anthropic-beta\` header.`;
  },
  well: () => undefined,
  stubborn: () => 'adaptive thinking is not supported on this model',
};

/** What rejections may be about. */
const EVERY_MEMBER = {
  ...{ temperature: 0.2, top_p: 0.5, top_k: 5, frequency_penalty: 1, presence_penalty: 1 },
  ...{ logit_bias: {}, logprobs: true, top_logprobs: 1, stop: ['a'], stop_sequences: ['a'] },
  ...{ parallel_tool_calls: false, tool_choice: 'required', metadata: {}, max_tokens: 1 },
  ...{ reasoning_effort: 'low', output_config: { effort: 'low' }, thinking: { type: 'enabled' } },
  messages: [{ role: 'assistant', content: 'a', reasoning_content: 'b' }],
};

/** What a caller sends, and how a provider quotes it: together they are the words of a difference. */
const QUOTED: { how: string; fields: Record<string, unknown>; words: string }[] = [
  {
    how: 'as the value of an effort',
    fields: { reasoning_effort: 'high is not supported here; supported values: none' },
    words: "reasoning_effort: invalid value 'high is not supported here; supported values: none'.",
  },
  {
    how: 'as an effort of one word',
    fields: { reasoning_effort: 'reasoning_effort' },
    words:
      "Unsupported value: 'reasoning_effort' does not support 'reasoning_effort' with this model. Supported values are: 'low'.",
  },
  {
    how: 'with escapes of its own',
    fields: { stop: ['temper\\"ature is depr\\"ecated for \\"this model'] },
    words: `Invalid stop sequence: 'temper\\"ature is depr\\"ecated for \\"this model'.`,
  },
  {
    how: 'with characters as escapes',
    fields: { stop: ['te\\u006dperature \\u0069s \\u0064eprecated for thi\\u0073 \\u006dodel'] },
    words: `Invalid stop sequence: ${JSON.stringify('te\\u006dperature \\u0069s \\u0064eprecated for thi\\u0073 \\u006dodel')}.`,
  },
  {
    how: 'with wide spaces',
    fields: { stop: ['temperature\u3000is\u2003deprecated\u3000for this\u3000model'] },
    words: 'Invalid stop sequence: temperature\u3000is\u2003deprecated\u3000for this\u3000model.',
  },
  {
    how: 'in a quotation within another',
    fields: { stop: ['temper"ature is depr"ecated for "this model'] },
    words: `Upstream: {"error": ${JSON.stringify(JSON.stringify('temper"ature is depr"ecated for "this model'))}}`,
  },
  {
    how: 'as the name of a member',
    fields: { logit_bias: { 'temperature is deprecated for this model': 1 } },
    words: "Invalid key in 'logit_bias': temperature is deprecated for this model.",
  },
  {
    how: 'as a short phrase',
    fields: { stop: ['top_p is deprecated'] },
    words: "The stop sequence 'top_p is deprecated' for this model is invalid.",
  },
];
const holds = (body: Record<string, unknown>, fields: Record<string, unknown>): boolean =>
  Object.entries(fields).every(([name, value]) => isDeepStrictEqual(body[name], value));
const ON_MESSAGES = ['other-betas', 'other-history', 'modified-history', 'mistaken', 'stubborn'];
const protocolOf = (name: string): string => {
  if (name.startsWith('sealed-history')) return 'responses';
  return ON_MESSAGES.includes(name) ? 'messages' : 'chat';
};

const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
const upstreams = new Map<string, GenerationUpstream>();
let fleet: Fleet;
let models: Model[];

beforeAll(async () => {
  const start = async (name: string, refuse: (request: Generated) => Refusal, protocol: string) => {
    const upstream = await startGenerationUpstream(refuse);
    upstreams.set(name, upstream);
    const options = { protocol, upstream: name.replace('.', '-'), profile: { betas: 'forward' } };
    const target = Target.parse({ ...targetAt(upstream.url), ...options });
    return modelOn([target], { id: `vendor/${name}` });
  };
  models = await Promise.all([
    ...Object.entries(CLAUDE_GENERATIONS).map(([name, one]) =>
      start(name, refusalOf(one), 'messages'),
    ),
    ...Object.entries(GPT_GENERATIONS).map(([name, one]) => start(name, gptRefusalOf(one), 'chat')),
    ...Object.entries(OTHERS).map(([name, refuse]) => start(name, refuse, protocolOf(name))),
    ...QUOTED.map(({ fields, words }, index) =>
      start(`quoted-${index}`, ({ body }) => (holds(body, fields) ? words : undefined), 'chat'),
    ),
  ]);
  const targetsOf = (name: string) => models.find(({ id }) => id === `vendor/${name}`)?.targets;
  const pair = ['other-sampling', 'well'].flatMap((name) => targetsOf(name) ?? []);
  models.push(modelOn(pair, { id: 'vendor/pair' }));
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey, size: 2 });
});
afterAll(async () => {
  await fleet.close();
  await Promise.all([...upstreams.values()].map(({ close }) => close()));
});

type Asked = { fields: object; path?: string; router?: number; headers?: Record<string, string> };

const ask = async (
  model: string,
  { fields, path = 'chat/completions', router = 0, headers }: Asked,
) => {
  const sent = await send(fleet.urls[router] ?? '', `/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, ...headers },
    body: JSON.stringify({
      model: `vendor/${model}`,
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 20_000,
      ...fields,
    }),
  });
  return { ...sent, calls: upstreams.get(model)?.take() ?? [] };
};

const EFFORT = { fields: { reasoning_effort: 'high' } };

describe('a target whose profile does not state what its model accepts', () => {
  test.each(CLAUDES)(
    'an effort on a %s without a profile gets 200 after at most one more call, later ones in any environment after none',
    async (name) => {
      const before = await fleet.charged();
      const first = await ask(name, EFFORT);
      expect(first.status).toBe(200);
      expect(first.calls.length).toBeLessThanOrEqual(2);
      clock.advance(61_000);
      for (const router of [0, 1]) {
        const { status, calls } = await ask(name, { ...EFFORT, router });
        expect([router, status, calls.length]).toEqual([router, 200, 1]);
      }
      expect(await fleet.charged()).toBe(before + 3);
    },
  );

  test.each([...CLAUDES, ...GPTS])(
    'every form of request gets 200 from a strict %s after at most two more calls, and later after none',
    async (name) => {
      const askForm = async (form: Form) => {
        const { status } = await send(fleet.urls[0] ?? '', PATHS[form.path], {
          method: 'POST',
          headers: { authorization: `Bearer ${fleet.key}` },
          body: JSON.stringify({ model: `vendor/${name}`, ...bodyOf(form) }),
        });
        return { status, calls: upstreams.get(name)?.take().length };
      };
      for (const [label, form] of Object.entries(FORMS)) {
        const { status, calls } = await askForm(form);
        expect([label, status]).toEqual([label, 200]);
        expect(calls).toBeLessThanOrEqual(3);
      }
      for (const [label, form] of Object.entries(FORMS)) {
        expect([label, await askForm(form)]).toEqual([label, { status: 200, calls: 1 }]);
      }
    },
  );

  test('a model that lacks adaptive thinking gets a budget, which is logged once and relearned after a day', async () => {
    const learned = () =>
      fleet
        .lines()
        .filter(({ event, target }) => event === 'target_learned' && target === 'claude-4-5/large');
    await ask('claude-4.5', EFFORT);
    const count = learned().length;
    expect(learned()[0]).toMatchObject({ upstream: 'claude-4-5', field: 'thinking' });
    clock.advance(DAY_MS + 1);
    const { status, calls } = await ask('claude-4.5', EFFORT);
    expect([status, calls.length]).toEqual([200, 2]);
    expect(calls.at(-1)?.body.thinking).toMatchObject({ type: 'enabled' });
    expect(learned()).toHaveLength(count + 1);
    expect((await ask('claude-4.5', EFFORT)).calls).toHaveLength(1);
  });

  test.each(['other-history', 'modified-history'])(
    'thinking that the provider does not accept is left out of this request, and of no other (%s)',
    async (name) => {
      const origin = createHash('sha256').update(`${name}\nlarge`).digest('hex').slice(0, 12);
      const thinking = { type: 'thinking', thinking: 'why', signature: `mrs1.${origin}.abc` };
      const messages = [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [thinking, { type: 'text', text: 'b' }] },
        { role: 'user', content: 'c' },
      ];
      const asked = { fields: { messages }, path: 'messages' };
      for (const turn of [1, 2]) {
        const { status, calls } = await ask(name, asked);
        expect([turn, status, calls.length]).toEqual([turn, 200, 2]);
      }
    },
  );

  test.each(['sealed-history', 'sealed-history-of-an-item'])(
    'sealed reasoning that another account of the provider wrote is left out of this request, and of no other (%s)',
    async (name) => {
      const origin = createHash('sha256').update(`${name}\nlarge`).digest('hex').slice(0, 12);
      const sealed = sealThinking({ text: '', signature: `mrs1.${origin}.gAAAAABo` });
      const input = [
        { role: 'user', content: 'a' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] },
        { role: 'user', content: 'c' },
      ];
      const fields = { input, messages: undefined, max_tokens: undefined };
      for (const turn of [1, 2]) {
        const { status, calls } = await ask(name, { fields, path: 'responses' });
        expect([turn, status, calls.length]).toEqual([turn, 200, 2]);
      }
    },
  );
});

test('doctor prints what was learned as members to add to the catalog', async () => {
  await ask('other-cap', { fields: {} });
  const secrets = fixedSecrets('secret');
  const { checks: check } = doctorHandlers({
    ...fleet.stores,
    models,
    readQuotas: async () => [],
    secrets,
    upstream: createHttpUpstream({ secrets, clock }),
    clock,
    presetOf,
  });
  const { body } = await check();
  expect(body.checks).toContainEqual({
    check: 'profile',
    result: 'warning',
    place: expect.stringMatching(/^\[\d+\]\.targets\[0\]\.profile$/),
    reason: expect.stringContaining('{"maxTokensField":"max_completion_tokens"}'),
  });
});

test('a temperature that is rejected beside an effort is left to requests without one', async () => {
  clock.advance(2 * DAY_MS);
  const fields = { reasoning_effort: 'high', temperature: 0.2, max_tokens: undefined };
  const { status, headers, calls } = await ask('gpt-5.2', { fields });
  expect([status, headers['x-router-dropped'], calls.length]).toEqual([200, 'temperature', 2]);
  const plain = await ask('gpt-5.2', { fields: { ...fields, reasoning_effort: undefined } });
  expect([plain.status, plain.calls.map(({ body }) => body.temperature)]).toEqual([200, [0.2]]);
});

describe('a rejection that no other form heals', () => {
  test("a caller's mistake is sent once and is a 400", async () => {
    const { status, calls } = await ask('mistaken', {
      fields: { temperature: 0.9 },
      path: 'messages',
    });
    expect([status, calls.length]).toEqual([400, 1]);
  });

  test.each(QUOTED.map(({ how, fields }, index) => ({ how, fields, name: `quoted-${index}` })))(
    "a rejection that quotes a caller's words $how teaches no other request",
    async ({ name, fields: quoted }) => {
      const mistake = await ask(name, { fields: quoted });
      expect(mistake.status).not.toBe(200);
      expect(mistake.calls.length).toBe(1);
      const fields = { reasoning_effort: 'high', temperature: 0.2, top_p: 0.5 };
      const next = await ask(name, { fields });
      expect(next.calls.map(({ body }) => body)).toMatchObject([fields]);
    },
  );

  test('a strict request continues with a target that gets the whole of it, also when the first one is known to reject a field', async () => {
    const strict = { fields: { temperature: 0.2 }, headers: { 'x-router-strict': '1' } };
    const callsOf = (name: string) => upstreams.get(name)?.take().length;
    for (const rejected of [1, 1]) {
      const { status, headers } = await ask('pair', strict);
      expect([status, headers['x-router-dropped']]).toEqual([200, undefined]);
      expect([callsOf('other-sampling'), callsOf('well')]).toEqual([rejected, 1]);
    }
    await ask('other-sampling', { fields: { temperature: 0.2 } });
    expect((await ask('pair', strict)).status).toBe(200);
    expect([callsOf('other-sampling'), callsOf('well')]).toEqual([0, 1]);
  });

  test('betas that one project invents are left out of its requests, and leave room in the lesson for those of others', async () => {
    const askWith = async (beta: string, router: number, key: string) => {
      const headers = { authorization: `Bearer ${key}`, 'anthropic-beta': beta };
      const { status, calls } = await ask('other-betas', {
        fields: {},
        path: 'messages',
        router,
        headers,
      });
      return [status, calls.length];
    };
    for (let index = 0; index < 100; index += 1) {
      for (const name of ['evil', 'evil-2025-01-01']) {
        const [status] = await askWith(`x${index}-${name}`, index % 2, fleet.key);
        expect(status).toBe(200);
      }
    }
    const published = 'context-1m-2025-08-07';
    expect(await askWith(published, 0, fleet.otherKey)).toEqual([200, 2]);
    // What another environment has learned is known after a minute.
    clock.advance(61_000);
    for (const router of [0, 1]) {
      expect(await askWith(published, router, fleet.otherKey)).toEqual([200, 1]);
    }
    const { 'messages:other-betas/large': lesson } = await fleet.stores.lessons.readLessons();
    const { betasWithout = [] }: Profile = JSON.parse(lesson?.profile ?? '{}');
    expect(betasWithout).toContain(published);
    expect(betasWithout.filter((name) => name.includes('evil'))).toHaveLength(16);
  });

  test('a target that rejects every form is called three times a request, and learns no lesson', async () => {
    const before = await fleet.charged();
    for (const turn of [1, 2, 3]) {
      const { status, calls } = await ask('stubborn', EFFORT);
      expect([turn, status, calls.length]).toEqual([turn, 400, 3]);
    }
    expect(await fleet.charged()).toBe(before);
    const lessons = await fleet.stores.lessons.readLessons();
    expect(Object.keys(lessons).filter((key) => key.includes('stubborn'))).toEqual([]);
    expect(fleet.lines().filter(({ event }) => event === 'breaker_opened')).toEqual([]);
  });

  test('of the published provider errors only those that name a difference are healed', () => {
    const healed = PROVIDER_ERRORS.filter(
      (error) => differenceIn(textOf(error), EVERY_MEMBER) !== undefined,
    );
    expect(healed.map(({ id }) => id).toSorted()).toEqual([
      'anthropic: too many tokens to generate',
      'anthropic: unsupported thinking',
      'cerebras: unsupported field of the history',
      'mistral: extra field',
      'openai: unsupported parameter',
      'openai: unsupported value',
      'openrouter: error of the provider behind it',
    ]);
  });
});
