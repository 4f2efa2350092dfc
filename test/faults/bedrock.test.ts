import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parseModels, type Target } from '../../lambdas/catalog/parse-models.ts';
import { DAY_MS } from '../../lambdas/support/clock.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { ROLE, type StrictBedrock, startStrictBedrock } from '../support/strict-bedrock.ts';

const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
let bedrock: StrictBedrock;
let other: GenerationUpstream;
let fleet: Fleet;
let role: () => Promise<typeof ROLE>;

/** The endpoints of Amazon Bedrock, by the id of the model that is on them. */
const ENDPOINTS = {
  'runtime-chat': ['runtime', '/openai/v1', 'chat'],
  'runtime-messages': ['runtime', '/anthropic', 'messages'],
  'runtime-responses': ['runtime', '/openai/v1', 'responses'],
  'mantle-chat': ['mantle', '/v1', 'chat'],
  'mantle-messages': ['mantle', '/anthropic', 'messages'],
  'mantle-responses': ['mantle', '/v1', 'responses'],
} as const;
const NAMES = Object.keys(ENDPOINTS) as (keyof typeof ENDPOINTS)[];

beforeAll(async () => {
  bedrock = await startStrictBedrock(clock);
  other = await startGenerationUpstream();
  const models = NAMES.flatMap((name) => {
    const [endpoint, path, protocol] = ENDPOINTS[name];
    const baseUrl = bedrock.baseUrl(endpoint, path);
    const target: Target = { upstream: name, protocol, baseUrl, model: 'a.model', auth: 'iam' };
    return [
      modelOn([target], { id: `aws/${name}` }),
      modelOn([{ ...target, upstream: `first-${name}` }, targetAt(other.url)], {
        id: `both/${name}`,
      }),
    ];
  });
  fleet = await startFleet({
    models: parseModels(models),
    clock,
    secret: CANARIES.upstreamKey,
    roleCredentials: () => role(),
  });
});
afterAll(async () => {
  await fleet.close();
  await other.close();
  await bedrock.close();
});
afterEach(() => {
  bedrock.reset();
  bedrock.take();
  other.take();
  // Longer than any breaker stays open.
  clock.advance(DAY_MS);
  role = async () => ROLE;
});
role = async () => ROLE;

const ask = async (model: string) => {
  const before = await fleet.charged();
  const sent = await send(fleet.urls[0] ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  return { ...sent, units: (await fleet.charged()) - before };
};

describe('Amazon Bedrock called by the role', () => {
  test.each(NAMES)('both SDKs get whole and streamed responses from %s', async (name) => {
    const model = `aws/${name}`;
    const baseURL = fleet.urls[0] ?? '';
    const openai = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: fleet.key, maxRetries: 0 });
    const anthropic = new Anthropic({ baseURL, apiKey: fleet.key, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'hi' }];
    const body = { model, max_tokens: 9, messages };
    const chunks = await openai.chat.completions.create({ ...body, stream: true });
    let streamed = '';
    for await (const { choices } of chunks) streamed += choices[0]?.delta.content ?? '';
    const whole = await openai.chat.completions.create(body);
    const message = await anthropic.messages.create(body);
    expect([
      streamed,
      whole.choices[0]?.message.content,
      message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      await anthropic.messages.stream(body).finalText(),
    ]).toEqual(['Hello', 'Hello', 'Hello', 'Hello']);
    const calls = bedrock.take();
    expect(calls.map((call) => call.model)).toEqual(Array(4).fill('a.model'));
    expect(calls[0]?.headers['x-api-key']).toBeUndefined();
    expect(calls[0]?.headers['x-amz-security-token']).toBe(ROLE.sessionToken);
  });

  test.each([7, -7])(
    'a clock that is %i minutes off costs one more call, once, and no unit',
    async (minutes) => {
      bedrock.state.aheadMs = minutes * 60_000;
      expect(await ask('aws/mantle-chat')).toMatchObject({ status: 200, units: 1 });
      expect(bedrock.take()).toHaveLength(2);
      expect(await ask('aws/runtime-messages')).toMatchObject({ status: 200, units: 1 });
      expect(bedrock.take()).toHaveLength(1);
      bedrock.state.aheadMs = 0;
      expect(await ask('aws/mantle-chat')).toMatchObject({ status: 200, units: 1 });
    },
  );

  test('credentials that AWS has rotated are used at the next request', async () => {
    expect((await ask('aws/runtime-chat')).status).toBe(200);
    bedrock.state.sessionToken = 'IQoJb3JpZ2luX2VjNEXTTOKEN';
    role = async () => ({ ...ROLE, sessionToken: bedrock.state.sessionToken });
    expect((await ask('aws/mantle-messages')).status).toBe(200);
  });
});

const REJECTIONS: Record<string, Partial<StrictBedrock['state']>> = {
  'an expired session token': { isExpired: true },
  'the session token of another role': { sessionToken: 'other' },
  'the endpoint of another region': { region: 'us-east-1' },
  'the endpoint of another service': { service: 'bedrock-agentcore' },
  'a body that was changed on its way': { isTampered: true },
};
const REJECTED = Object.keys(REJECTIONS).flatMap((rejection) =>
  NAMES.map((name) => [rejection, name] as const),
);

describe('what AWS rejects', () => {
  test.each(REJECTED)(
    '%s on %s gets 500 that names the credentials, costs no unit, and leaks nothing',
    async (rejection, name) => {
      Object.assign(bedrock.state, REJECTIONS[rejection]);
      const { status, text, headers, units } = await ask(`aws/${name}`);
      expect([status, units, headers['x-should-retry']]).toEqual([500, 0, 'false']);
      expect(text).toContain('provider credentials were rejected');
      for (const secret of [...Object.values(ROLE), 'SignedHeaders']) {
        expect(text + fleet.logText()).not.toContain(secret);
      }
      expect(bedrock.take()).toHaveLength(1);
    },
  );

  test.each(Object.keys(REJECTIONS))('after %s the next target answers', async (rejection) => {
    Object.assign(bedrock.state, REJECTIONS[rejection]);
    expect(await ask('both/runtime-chat')).toMatchObject({ status: 200, units: 1 });
    expect(other.take()).toHaveLength(1);
  });

  test('a role whose policy lacks the model gets 500 without the account or the role', async () => {
    bedrock.state.isAllowed = false;
    const { status, text, units } = await ask('aws/runtime-chat');
    expect([status, units]).toEqual([500, 0]);
    expect(text).toContain('lack access');
    expect(text + fleet.logText()).not.toMatch(/123456789012|canary-role/);
    expect((await ask('both/runtime-chat')).status).toBe(200);
  });

  test('an environment without credentials calls no endpoint, and the next target answers', async () => {
    role = () => Promise.reject(new Error('AWS_ACCESS_KEY_ID is not set.'));
    expect(await ask('aws/mantle-chat')).toMatchObject({ status: 503, units: 0 });
    expect(await ask('both/mantle-chat')).toMatchObject({ status: 200, units: 1 });
    expect(bedrock.take()).toEqual([]);
  });
});
