import { createOpenAI } from '@ai-sdk/openai';
import { Agent, tool as agentTool, OpenAIResponsesModel, Runner } from '@openai/agents';
import { generateText, isStepCount, tool } from 'ai';
import OpenAI from 'openai';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { rejection } from '../support/error-of.ts';
import { useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { WIRES } from '../support/wires.ts';

/** The clients of the vendor's state, unchanged, on a model of each upstream protocol. */
const models = WIRES.map((protocol) =>
  modelOn([targetAt('https://upstream.example', { protocol, upstream: protocol })], {
    id: `state/${protocol}`,
  }),
);
const router = useRouter({ catalog: models, state: 'default', delayMs: 2 });
beforeEach(() => router().upstreams.reset());

const connect = (apiKey = router().key) =>
  new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey, maxRetries: 0 });

const lastPrompt = (): string => JSON.stringify(router().upstreams.calls.at(-1)?.body);

const ended = async (client: OpenAI, started: OpenAI.Responses.Response) => {
  let response = started;
  while (response.status === 'queued' || response.status === 'in_progress') {
    response = await client.responses.retrieve(started.id);
  }
  return response;
};

const used = async (key: string): Promise<number> => {
  const response = await fetch(`${router().baseUrl}/v1/usage`, { headers: { 'x-api-key': key } });
  const { period } = (await response.json()) as { period: { used: number } };
  return period.used;
};

describe.each(WIRES)('an upstream that speaks %s', (protocol) => {
  const model = `state/${protocol}`;

  test('the OpenAI SDK reads a stored response, continues it, lists its input and deletes it', async () => {
    const client = connect();
    const first = await client.responses.create({ model, input: 'say Uno is the first.' });
    expect(await client.responses.retrieve(first.id)).toEqual({ ...first, store: true });
    const second = await client.responses.create({
      ...{ model, previous_response_id: first.id, store: true },
      input: [{ role: 'user', content: 'say Due.' }],
    });
    expect(second).toMatchObject({ previous_response_id: first.id, output_text: 'Due.' });
    expect(lastPrompt()).toContain('Uno is the first.');
    const items: unknown[] = [];
    const list = client.responses.inputItems.list(second.id, { limit: 1, order: 'asc' });
    for await (const item of list) items.push(item);
    expect(items).toMatchObject([
      { role: 'user', content: [{ type: 'input_text', text: 'say Uno is the first.' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Uno is the first.' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'say Due.' }] },
    ]);
    await client.responses.delete(second.id);
    expect(await rejection(client.responses.retrieve(second.id))).toMatchObject({ status: 404 });
    const again = client.responses.create({
      ...{ model, previous_response_id: second.id, input: 'say Tre.' },
    });
    expect(await rejection(again)).toMatchObject({
      ...{ status: 400, code: 'previous_response_not_found', param: 'previous_response_id' },
    });
  });

  test('the OpenAI SDK counts a continuation and a reference as the whole conversation', async () => {
    const client = connect();
    const said = { role: 'user' as const, content: 'say Uno is the first.' };
    const first = await client.responses.create({ model, input: [said] });
    const next = { role: 'user' as const, content: 'say Due.' };
    const count = async (params: OpenAI.Responses.InputTokenCountParams) =>
      (await client.responses.inputTokens.count({ model, ...params })).input_tokens;
    const whole = await count({
      input: [said, ...(first.output as OpenAI.Responses.ResponseInputItem[]), next],
    });
    expect(whole).toBeGreaterThan(await count({ input: [next] }));
    expect(await count({ previous_response_id: first.id, input: [next] })).toBe(whole);
    const id = first.output[0]?.id ?? '';
    const reference = { type: 'item_reference' as const, id };
    expect(await count({ input: [said, reference, next] })).toBe(whole);
    const unknown = count({ previous_response_id: 'resp_none', input: [next] });
    expect(await rejection(unknown)).toMatchObject({ code: 'previous_response_not_found' });
  });

  test('a streamed response is stored before its end is sent, with reasoning and calls', async () => {
    const client = connect();
    const weather: OpenAI.Responses.FunctionTool = {
      ...{ type: 'function', name: 'weather', strict: false },
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    };
    const stream = client.responses.stream({
      ...{ model, tools: [weather] },
      input: 'think Let me see.\ncall weather {"city":"Rome"}',
    });
    const first = await stream.finalResponse();
    const call = first.output.find((item) => item.type === 'function_call');
    const { output } = await client.responses.retrieve(first.id, {
      include: ['reasoning.encrypted_content'],
    });
    expect(output).toEqual(
      JSON.parse(JSON.stringify(first.output), (key, value) =>
        key === 'parsed_arguments' ? undefined : value,
      ),
    );
    const second = await client.responses.create({
      ...{ model, previous_response_id: first.id, tools: [weather] },
      input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny' }],
    });
    expect(second.output_text).toContain('sunny');
  });

  test('a background response is queued at once, and costs one unit', async () => {
    const key = await router().createKey();
    const client = connect(key);
    const started = await client.responses.create({
      ...{ model, background: true, input: 'say All is well that ends well.' },
    });
    expect(started).toMatchObject({ status: 'queued', background: true, output: [] });
    const response = await ended(client, started);
    expect(response).toMatchObject({ status: 'completed', background: true, store: true });
    expect(response.output_text).toBe('All is well that ends well.');
    expect(await used(key)).toBe(1);
    const next = await client.responses.create({
      ...{ model, previous_response_id: started.id, input: 'say Yes.' },
    });
    expect(next.output_text).toBe('Yes.');
  });

  test('a provider gets no options of the background, which are named as left out, and a strict request is rejected', async () => {
    const client = connect();
    const asked = {
      ...{ model, input: 'say Yes.', store: true },
      background_options: { completion_window: '2h' as const },
    };
    const { data, response } = await client.responses.create(asked).withResponse();
    expect([data.output_text, response.headers.get('x-router-dropped')]).toEqual([
      ...['Yes.', 'background_options'],
    ]);
    await ended(client, await client.responses.create({ ...asked, background: true }));
    expect(router().upstreams.calls).toHaveLength(2);
    expect(JSON.stringify(router().upstreams.calls)).not.toContain('completion_window');
    const headers = { 'x-router-strict': '1' };
    expect(await rejection(client.responses.create(asked, { headers }))).toMatchObject({
      ...{ status: 400, param: 'background_options' },
    });
  });

  test('a background stream continues behind an event, and has the same events from its beginning', async () => {
    const client = connect();
    const stream = await client.responses.create({
      ...{ model, background: true, stream: true, input: 'say One two three four five six.' },
    });
    const sent: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) sent.push(event);
    const [created] = sent;
    if (created?.type !== 'response.created') throw new Error(created?.type);
    expect(created.response.status).toBe('queued');
    const followed: unknown[] = [];
    const rest = await client.responses.retrieve(created.response.id, {
      ...{ stream: true, starting_after: 4 },
    });
    for await (const event of rest) followed.push(event);
    expect(followed).toEqual(sent.slice(5));
    expect(sent.at(-1)?.type).toBe('response.completed');
    expect(sent.map(({ sequence_number: number }) => number)).toEqual(
      sent.map((_, index) => index),
    );
  });

  test('a background response is cancelled, and a repeat of that returns the same', async () => {
    const client = connect();
    const started = await client.responses.create({
      ...{ model, background: true, input: `say ${'word '.repeat(3_000)}` },
    });
    const cancelled = { id: started.id, status: 'cancelled', output: [] };
    expect(await client.responses.cancel(started.id)).toMatchObject(cancelled);
    expect(await client.responses.cancel(started.id)).toMatchObject(cancelled);
    expect(await client.responses.retrieve(started.id)).toMatchObject(cancelled);
  });

  test('a stored response that did not run in the background is neither cancelled nor streamed again, and says why', async () => {
    const client = connect();
    const { id } = await client.responses.create({ model, input: 'say Yes.' });
    expect(await rejection(client.responses.cancel(id))).toMatchObject({
      ...{ status: 400, message: expect.stringContaining('"background": true') },
    });
    const streamed = client.responses.retrieve(id, { stream: true });
    expect(await rejection(streamed)).toMatchObject({
      ...{ status: 400, message: expect.stringContaining('"stream": true') },
    });
  });

  test('the AI SDK with its default settings sends references, which become the items', async () => {
    const sent: string[] = [];
    const openai = createOpenAI({
      ...{ baseURL: `${router().baseUrl}/v1`, apiKey: router().key },
      fetch: (url, init) => {
        sent.push(String(init?.body));
        return fetch(url, init);
      },
    });
    const { text, steps } = await generateText({
      model: openai(model),
      prompt: 'think Let me see.\ncall weather {"city":"Rome"}',
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async () => 'sunny',
        }),
      },
      stopWhen: isStepCount(3),
    });
    expect(steps).toHaveLength(2);
    expect(text).toContain('sunny');
    expect(sent.at(-1)).toContain('item_reference');
    expect(lastPrompt()).toContain('Rome');
  });

  test('the agents SDK holds a conversation by ids of responses', async () => {
    const agent = new Agent({
      name: 'Agent',
      model: new OpenAIResponsesModel(connect(), model),
      tools: [
        agentTool({
          ...{ name: 'weather', description: 'The weather.' },
          parameters: z.object({ city: z.string() }),
          execute: async () => 'sunny',
        }),
      ],
    });
    const runner = new Runner({ tracingDisabled: true });
    const first = await runner.run(agent, 'call weather {"city":"Rome"}');
    expect(first.finalOutput).toContain('sunny');
    const { lastResponseId } = first;
    if (lastResponseId === undefined) throw new Error('The first run has no id.');
    const second = await runner.run(agent, 'say Goodbye.', { previousResponseId: lastResponseId });
    expect(second.finalOutput).toBe('Goodbye.');
    expect(lastPrompt()).toContain('sunny');
  });
});
