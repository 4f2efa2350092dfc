import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import { PRESETS } from '../../lambdas/catalog/profiles.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Generated,
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { startSigningUpstream, thinkingIn } from '../support/signing-upstream.ts';
import { chatRejections } from '../support/strict-upstream/chat-rules.ts';

let claude: GenerationUpstream;
let other: GenerationUpstream;
let fleet: Fleet;
let client: OpenAI;
beforeAll(async () => {
  claude = await startSigningUpstream();
  other = await startGenerationUpstream(({ body }) => chatRejections(body)[0]);
  const on = (model: string, extra: Partial<Target> = {}) =>
    targetAt(claude.url, { protocol: 'messages', upstream: 'claude', model, ...extra });
  const models = [
    modelOn([on('adaptive', { profile: PRESETS['claude-5'] })], { id: 'vendor/adaptive' }),
    modelOn([on('budget', { profile: PRESETS['claude-4.5'] })], { id: 'vendor/budget' }),
    modelOn([targetAt(other.url)], { id: 'vendor/chat' }),
  ];
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
  client = new OpenAI({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });
});
afterAll(async () => {
  await fleet.close();
  await Promise.all([claude.close(), other.close()]);
});

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Read = (params: Params) => Promise<OpenAI.ChatCompletion>;

/** The response as the SDK reads it whole, and as its helper adds up the stream. */
const readers: [string, Read][] = [
  ['whole', (params) => client.chat.completions.create(params)],
  [
    'streamed',
    (params) => client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion(),
  ],
];

const tools = [{ type: 'function' as const, function: { name: 'look' } }];
type Messages = OpenAI.ChatCompletionMessageParam[];

/** A client's loop of tools: it sends each message back as `keep` leaves it, with the call's result. */
const loop = async (
  read: Read,
  modelAt: (step: number) => string,
  keep = (message: OpenAI.ChatCompletionMessage) => message,
) => {
  const messages: Messages = [{ role: 'user', content: 'hi' }];
  for (let step = 0; step < 4; step += 1) {
    const params = { model: modelAt(step), messages, tools, reasoning_effort: 'low' as const };
    const [choice] = (await read(params)).choices;
    if (!choice) throw new Error('no choice');
    messages.push(keep(choice.message));
    const [call] = choice.message.tool_calls ?? [];
    if (!call) return { messages, text: choice.message.content };
    messages.push({ role: 'tool', tool_call_id: call.id, content: 'seen' });
  }
  throw new Error('the loop does not end');
};

const withoutDetails = (message: OpenAI.ChatCompletionMessage) => {
  const { reasoning_details: _, ...rest } = message as typeof message & {
    reasoning_details?: unknown;
  };
  return rest;
};

const thinkingSent = (received: Generated[]): number[] => received.map(thinkingIn);

describe.each(readers)('a loop of tools, %s', (form, read) => {
  test.each(['vendor/adaptive', 'vendor/budget'])(
    `the thinking of Claude survives a chat client's loop of tools, ${form}, on %s`,
    async (model) => {
      const { text } = await loop(read, () => model);
      expect(text).toBe('Done.');
      expect(thinkingSent(claude.take())).toEqual([0, 2, 3]);
    },
  );

  test.each(['vendor/adaptive', 'vendor/budget'])(
    `a client that drops reasoning_details loses the thinking only, ${form}, on %s`,
    async (model) => {
      const { text } = await loop(read, () => model, withoutDetails);
      expect(text).toBe('Done.');
      expect(thinkingSent(claude.take())).toEqual([0, 0, 0]);
    },
  );

  test(`the thinking of one model is not sent to another in a loop, ${form}`, async () => {
    const { text } = await loop(read, (step) => (step === 0 ? 'vendor/adaptive' : 'vendor/budget'));
    expect(text).toBe('Done.');
    expect(thinkingSent(claude.take())).toEqual([0, 0, 1]);
  });

  test(`signed thinking is not sent to a chat target, ${form}`, async () => {
    const { text } = await loop(read, (step) => (step === 0 ? 'vendor/adaptive' : 'vendor/chat'));
    expect(text).toBe('Hello');
    expect(JSON.stringify(other.take().at(-1)?.body)).not.toMatch(
      /reasoning_content|reasoning_details|mrs1/,
    );
    claude.take();
  });
});

test('reasoning_details of another service reach a chat target unchanged, and are left out where it refuses them', async () => {
  const details = [{ type: 'reasoning.text', text: 'Hm.', signature: 'theirs', index: 0 }];
  const strict = { role: 'assistant' as const, content: 'Yes.', reasoning_details: details };
  const messages: Messages = [
    { role: 'user', content: 'hi' },
    strict as Messages[number],
    { role: 'user', content: 'go on' },
  ];
  // The strict upstream is of a vendor without the field, and names it.
  const { choices } = await client.chat.completions.create({ model: 'vendor/chat', messages });
  expect(choices[0]?.message.content).toBe('Hello');
  const [first, second] = other.take();
  expect(first?.body).toMatchObject({ messages: [{}, strict, {}] });
  expect(JSON.stringify(second?.body)).not.toContain('reasoning_details');
});
