import { expect, test } from 'vitest';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import type { Family } from '../../support/families.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { startMisbehaving } from '../../support/misbehaving-server.ts';
import { requestOf } from '../../support/translate.ts';

/** The body that an upstream of `protocol` is sent when its target says `options`. */
const bodyFor = async (
  protocol: Family,
  options: Partial<Target>,
  fields: object,
): Promise<Record<string, unknown> | undefined> => {
  const server = await startMisbehaving((response) => response.writeHead(503).end());
  const call = createHttpUpstream({
    clock: createManualClock(0),
    secrets: fixedSecrets('secret'),
  }).open({
    request: requestOf(protocol, fields),
    target: { upstream: 'a', protocol, baseUrl: server.url, model: 'm', secret: 's', ...options },
    protocol: upstreamProtocols[protocol],
    maxOutputTokens: 1000,
    limits: { characters: 1_000_000, messages: 10_000, overhead: 1_000_000 },
    signal: new AbortController().signal,
  });
  await expect(call).rejects.toMatchObject({ kind: 'status' });
  return server.seen[0]?.body;
};

const HISTORY = [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: 'yo', reasoning_content: 'They greet.' },
  { role: 'user', content: 'go on' },
];

test('the token cap has the name that the target gives it', async () => {
  const body = await bodyFor('chat', { maxTokensField: 'max_completion_tokens' }, {});
  expect(body).toMatchObject({ max_completion_tokens: 100 });
  expect(body).not.toHaveProperty('max_tokens');
});

test('earlier reasoning is left out for a target that refuses it', async () => {
  const told = await bodyFor('chat', {}, { messages: HISTORY });
  expect(JSON.stringify(told)).toContain('They greet.');
  const body = await bodyFor('chat', { reasoningHistory: 'refused' }, { messages: HISTORY });
  expect(JSON.stringify(body)).not.toContain('They greet.');
});

test('tool-call ids are short for a target that takes no others', async () => {
  const call = { id: 'call_0fypS1hVX', type: 'function', function: { name: 'f', arguments: '{}' } };
  const result = { role: 'tool', tool_call_id: 'call_0fypS1hVX', content: 'done' };
  const messages = [{ role: 'assistant', tool_calls: [call] }, result];
  expect(await bodyFor('chat', {}, { messages })).toMatchObject({ messages });
  expect(await bodyFor('chat', { toolCallIds: 'short' }, { messages })).toMatchObject({
    messages: [{ tool_calls: [{ id: '8OUPrhCTK' }] }, { tool_call_id: '8OUPrhCTK' }],
  });
});

test('later system turns are marked for a target that takes leading ones only', async () => {
  const messages = [...HISTORY.slice(0, 1), { role: 'system', content: 'Be brief.' }];
  const body = await bodyFor('messages', { systemTurns: 'leading' }, { messages });
  expect(body?.messages).toMatchObject([{ role: 'user', content: [{ text: 'hi' }, {}] }]);
});

test('the fields of a beta go to targets whose headers ask for it', async () => {
  const fields = { context_management: { edits: [] } };
  const headers = { 'anthropic-beta': 'context-management-2025-06-27' };
  expect(await bodyFor('messages', { headers }, fields)).toMatchObject(fields);
  expect(await bodyFor('messages', {}, fields)).not.toHaveProperty('context_management');
});
