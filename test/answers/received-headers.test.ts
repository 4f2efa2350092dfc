import { describe, expect, test } from 'vitest';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import { TargetProfile } from '../../lambdas/catalog/profiles.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startFleet } from '../support/fleet.ts';
import { answer } from '../support/fleet-upstream.ts';
import { startMisbehaving } from '../support/misbehaving-server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

/** What Claude Code sends to a gateway: betas that no vendor's types have, a newer version, a workspace. */
const SENT = {
  'anthropic-beta':
    'claude-code-20250219,per-turn-control-2026-07-01,interleaved-thinking-2025-05-14',
  'anthropic-version': '2026-10-21',
  'anthropic-workspace-id': 'wrkspc_1',
  'anthropic-tomorrow': 'yes',
};

const BILLING = 'x-anthropic-billing-header: cc_version=2.1.330; cc_entrypoint=cli;';
const BODY = {
  max_tokens: 10,
  system: [
    { type: 'text', text: BILLING },
    { type: 'text', text: 'You are an agent.' },
  ],
  messages: [{ role: 'user', content: 'hi' }],
};

/** Two calls of one id, which the vendor rejects. */
const REPEATED_CALLS = [
  { role: 'user', content: 'hi' },
  ...[1, 2].flatMap((input) => [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'call_0', name: 'f', input: { input } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'done' }] },
  ]),
];

/** Which of the headers a target with these members gets, and the body's text. */
const sentTo = async (
  members: Partial<Target>,
  headers: Record<string, string> = SENT,
  path = '/v1/messages',
  fields: object = {},
) => {
  const upstream = await startMisbehaving((response) => answer(response));
  const target = targetAt(upstream.url, { protocol: 'messages', ...members });
  const fleet = await startFleet({ models: [modelOn([target])], clock: systemClock });
  const system = path === '/v1/messages' ? {} : { system: undefined };
  await send(fleet.urls[0] ?? '', path, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key, ...headers },
    body: JSON.stringify({ model: 'vendor/model', ...BODY, ...system, ...fields }),
  });
  await fleet.close();
  const [seen] = upstream.seen;
  const got = Object.entries(seen?.headers ?? {}).filter(([name]) => name.startsWith('anthropic-'));
  return { headers: Object.fromEntries(got), text: seen?.text ?? '' };
};

test("a messages target gets every anthropic header of its caller unchanged, and the agent's billing line first", async () => {
  const { headers, text } = await sentTo({});
  expect(headers).toEqual(SENT);
  expect(JSON.parse(text).system[0]).toEqual({ type: 'text', text: BILLING });
});

test('a chat target gets neither the anthropic headers nor the billing line', async () => {
  const { headers, text } = await sentTo({ protocol: 'chat' });
  expect(headers).toEqual({});
  expect(text).toContain('You are an agent.');
  expect(text).not.toContain('billing');
});

/** A system prompt that begins with the billing line, and what a target that has no use for the line gets of it. */
const PROMPTS: Record<string, [system: unknown, sent: unknown]> = {
  'of two blocks': [BODY.system, [{ type: 'text', text: 'You are an agent.' }]],
  'of one block': [
    [{ type: 'text', text: `${BILLING}\n\nYou are an agent.` }],
    [{ type: 'text', text: 'You are an agent.' }],
  ],
  'of one text': [`${BILLING}\nYou are an agent.`, 'You are an agent.'],
  'of the line alone': [BILLING, undefined],
  'of a block with the line alone': [[{ type: 'text', text: BILLING }], undefined],
};

describe.each(Object.entries(PROMPTS))('of a system prompt %s', (_, [system, sent]) => {
  test.each(['chat', 'responses', 'gemini'] as const)(
    'a %s target gets all but the billing line',
    async (protocol) => {
      const { text } = await sentTo({ protocol }, SENT, '/v1/messages', { system });
      expect(text).not.toContain('billing');
      expect(text.includes('You are an agent.')).toBe(sent !== undefined);
    },
  );

  test.each([
    ['whose profile says so', { billingLine: false }],
    ["of a vendor that is not the agent's", 'kimi-k3'],
  ])('a messages target %s gets all but the billing line', async (_name, profile) => {
    const members = { profile: TargetProfile.parse(profile) };
    const { text } = await sentTo(members, SENT, '/v1/messages', { system });
    expect(JSON.parse(text).system).toEqual(sent);
  });

  test('a messages target gets the same with a history that is written anew', async () => {
    const { text } = await sentTo({ profile: { billingLine: false } }, SENT, '/v1/messages', {
      system,
      messages: REPEATED_CALLS,
    });
    expect(text).not.toContain('billing');
    expect(text.includes('You are an agent.')).toBe(sent !== undefined);
  });

  test('a chat caller with that prompt has it sent without the billing line', async () => {
    const content = typeof system === 'string' ? system : (system as object[]);
    const messages = [{ role: 'system', content }, ...BODY.messages];
    const { text } = await sentTo({ protocol: 'chat' }, SENT, '/v1/chat/completions', { messages });
    expect(text).not.toContain('billing');
    expect(text.includes('You are an agent.')).toBe(sent !== undefined);
  });
});

test.each([
  [
    'betas that its profile leaves out are not sent',
    { profile: { betasWithout: ['claude-code-20250219', 'per-turn-control-2026-07-01'] } },
    { 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
  ],
  [
    'a version that its provider does not know becomes the newest that it knows',
    { profile: { versions: ['2023-06-01', '2023-01-01'] } },
    { 'anthropic-version': '2023-06-01' },
  ],
  [
    'a version that its provider knows is sent',
    { profile: { versions: ['2026-10-21', '2023-06-01'] } },
    { 'anthropic-version': '2026-10-21' },
  ],
  [
    'its own headers replace those of the caller, and its betas are added',
    { headers: { 'Anthropic-Version': '2024-01-01', 'anthropic-beta': 'own-1' } },
    { 'anthropic-version': '2024-01-01', 'anthropic-beta': `own-1,${SENT['anthropic-beta']}` },
  ],
])('of a messages target %s', async (_, members, expected) => {
  const { headers } = await sentTo(members as Partial<Target>);
  expect(headers).toEqual({ ...SENT, ...expected });
});

test.each([
  ['of a chat caller', '/v1/chat/completions', {}],
  ['of a messages caller without one', '/v1/messages', {}],
])('a request %s has the first version, or the newest of the profile', async (_, path, headers) => {
  expect((await sentTo({}, headers, path)).headers).toEqual({ 'anthropic-version': '2023-06-01' });
  const profile = { versions: ['2023-06-01', '2026-10-21'] };
  const newest = { 'anthropic-version': '2026-10-21' };
  expect((await sentTo({ profile }, headers, path)).headers).toEqual(newest);
});

test('a version that a provider rejects is asked for once, and then not again', async () => {
  const words = (version: unknown) => `anthropic-version: "${version}" is not a valid version`;
  const upstream = await startMisbehaving((response, { headers }) => {
    const version = headers['anthropic-version'];
    if (version === '2023-06-01') return answer(response);
    const error = { type: 'invalid_request_error', message: words(version) };
    response.writeHead(400, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ type: 'error', error }));
  });
  const target = targetAt(upstream.url, { protocol: 'messages' });
  const fleet = await startFleet({ models: [modelOn([target])], clock: systemClock });
  const ask = async (version: string) => {
    const before = upstream.seen.length;
    await send(fleet.urls[0] ?? '', '/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'anthropic-version': version },
      body: JSON.stringify({ model: 'vendor/model', ...BODY }),
    });
    return upstream.seen.slice(before).map(({ headers }) => headers['anthropic-version']);
  };
  expect(await ask('2026-10-21')).toEqual(['2026-10-21', '2023-06-01']);
  expect(await ask('2026-10-21')).toEqual(['2023-06-01']);
  expect(await ask('2023-06-01')).toEqual(['2023-06-01']);
  await fleet.close();
});
