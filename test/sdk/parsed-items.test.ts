import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { startFleet } from '../support/fleet.ts';
import { startGenerationUpstream } from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOf } from '../support/models.ts';

test('what the OpenAI SDK adds to the items of a response is not sent back to their provider', async () => {
  const upstream = await startGenerationUpstream();
  const models = [modelOf('responses', upstream.url)];
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
  const client = new OpenAI({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });
  const asked = { model: 'vendor/responses', store: false };
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'say hello' }];
  const { output } = await client.responses.stream({ ...asked, input }).finalResponse();
  const called = {
    ...{ type: 'function_call' as const, call_id: 'call_1', name: 'f', arguments: '{"a":1.0}' },
    parsed_arguments: null,
  };
  expect(JSON.stringify(output)).toContain('"parsed":null');
  const said = [...output, called, { type: 'function_call_output', call_id: 'call_1', output: '' }];
  await client.responses.create({
    ...asked,
    input: [...input, ...said] as OpenAI.Responses.ResponseInput,
  });
  const [, sent] = upstream.take();
  expect(sent?.text).not.toContain('parsed');
  expect(sent?.body.input).toEqual(
    JSON.parse(JSON.stringify([...input, ...said]), (name, value) =>
      name.startsWith('parsed') ? undefined : value,
    ),
  );
  await fleet.close();
  await upstream.close();
});

/** What Groq, Cerebras and Mistral know of a message, and of a call in it. */
const MEMBERS = ['role', 'content', 'name', 'tool_calls', 'tool_call_id'];
const OF_CALL = ['id', 'type', 'function'];

const unknownIn = (messages: Record<string, unknown>[]): string | undefined => {
  const names = messages.flatMap(({ tool_calls: calls = [], ...message }) => [
    ...Object.keys(message).filter((name) => !MEMBERS.includes(name)),
    ...(calls as object[]).flatMap(Object.keys).filter((name) => !OF_CALL.includes(name)),
  ]);
  return names[0] && `'messages.1' : property '${names[0]}' is unsupported`;
};

test.each(['whole', 'streamed'])(
  'a message of a %s chat that the OpenAI SDK sends back has only what strict providers know',
  async (form) => {
    const calls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const message = { role: 'assistant', content: null, refusal: null, annotations: [] };
    const choice = { index: 0, finish_reason: 'tool_calls', logprobs: null };
    const base = { id: 'chatcmpl-1', created: 1, model: 'm' };
    const whole = {
      ...{ ...base, object: 'chat.completion' },
      choices: [{ ...choice, message: { ...message, tool_calls: calls } }],
    };
    const delta = { ...message, tool_calls: calls.map((one) => ({ ...one, index: 0 })) };
    const chunk = { ...base, object: 'chat.completion.chunk', choices: [{ ...choice, delta }] };
    const upstream = await startGenerationUpstream(
      ({ body }) => unknownIn(body.messages as Record<string, unknown>[]),
      () =>
        form === 'whole'
          ? { type: 'application/json', text: JSON.stringify(whole) }
          : {
              type: 'text/event-stream',
              text: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
            },
    );
    const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
    const secret = CANARIES.upstreamKey;
    const fleet = await startFleet({ models: [modelOf('chat', upstream.url)], clock, secret });
    const baseURL = `${fleet.urls[0]}/v1`;
    const { completions } = new OpenAI({ baseURL, apiKey: fleet.key, maxRetries: 0 }).chat;
    const asked = { model: 'vendor/chat' };
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'look' }];
    const said =
      form === 'whole'
        ? (await completions.create({ ...asked, messages })).choices[0]?.message
        : await completions.stream({ ...asked, messages }).finalMessage();
    if (!said) throw new Error('no message');
    expect(JSON.stringify(said)).toContain('"annotations":[]');
    // As those do who put a stream together themselves.
    const kept = said.tool_calls?.map((one) => ({ ...one, index: 0 }));
    const result = { role: 'tool' as const, tool_call_id: 'call_1', content: 'a calendar' };
    const { choices } = await completions.create({
      ...asked,
      messages: [...messages, { ...said, tool_calls: kept ?? [] }, result],
    });
    expect([choices.length, upstream.take().length]).toEqual([1, 2]);
    await fleet.close();
    await upstream.close();
  },
);
