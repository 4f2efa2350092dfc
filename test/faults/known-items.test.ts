import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

type Item = { type?: string; call_id?: string; output?: string };

/** What Ollama's responses know, by its source; a result answers the call right before it, or another result of its turn. */
const KNOWN = ['message', 'function_call', 'function_call_output', 'reasoning', 'web_search_call'];
const unknownIn = (input: Item[]): string | undefined => {
  const index = input.findIndex(({ type = 'message' }) => !KNOWN.includes(type));
  if (index !== -1) return `input[${index}]: unknown input item type: "${input[index]?.type}"`;
  const misplaced = input.find(({ type }, at) => {
    const before = input[at - 1]?.type ?? 'message';
    return type === 'function_call_output' && !before.startsWith('function_call');
  });
  return misplaced && `No tool output found for function call ${misplaced.call_id}.`;
};

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(({ body }) => unknownIn(body.input as Item[]));
  const target = targetAt(upstream.url, { protocol: 'responses', model: 'm', upstream: 'ollama' });
  fleet = await startFleet({
    models: [modelOn([target], { id: 'v/m' })],
    clock: createCountingClock(Date.UTC(2026, 10, 24, 12)),
    secret: CANARIES.upstreamKey,
  });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async (input: object[]) => {
  upstream.take();
  const { status, text } = await send(fleet.urls[0] ?? '', '/v1/responses', {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({ model: 'v/m', stream: true, input }),
  });
  const calls = upstream.take();
  return { status, text, calls: calls.length, body: calls.at(-1)?.body as Record<string, unknown> };
};

const user = { type: 'message', role: 'user', content: 'Look.' };
const call = (id: string) => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{}',
});
const result = (id: string) => ({
  type: 'function_call_output',
  call_id: id,
  output: 'A calendar.',
});
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };

test("Codex's items reach a server that knows the common ones alone, as what it knows", async () => {
  const input = [
    { type: 'additional_tools', role: 'developer', tools: [look] },
    user,
    call('call_a'),
    call('call_b'),
    result('call_a'),
    { type: 'message', role: 'developer', content: 'The hook has run.' },
    result('call_b'),
    {
      type: 'agent_message',
      author: 'a',
      recipient: 'b',
      content: [{ type: 'input_text', text: 'Done.' }],
    },
  ];
  const first = await ask(input);
  expect([first.status, first.calls]).toEqual([200, 2]);
  expect(first.body.tools).toEqual([look]);
  const { input: sent } = first.body as { input: Item[] };
  expect(sent.map(({ type }) => type)).toEqual([
    ...['message', 'function_call', 'function_call'],
    ...['function_call_output', 'function_call_output', 'message', 'message'],
  ]);
  expect(JSON.stringify(sent)).toContain('Message from a to b:');
  const next = await ask(input);
  expect([next.status, next.calls, next.body]).toEqual([200, 1, first.body]);
});

test('a conversation that was compacted at another provider is the 400 of a server that does not know such items', async () => {
  const { status, text, calls, body } = await ask([
    { type: 'compaction', encrypted_content: 'c2VhbGVk' },
    user,
  ]);
  expect([status, calls]).toEqual([400, 1]);
  expect(text).toContain('unknown input item type');
  expect(body.input).toEqual([{ type: 'compaction', encrypted_content: 'c2VhbGVk' }, user]);
});
