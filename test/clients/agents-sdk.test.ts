import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { rejection } from '../support/error-of.ts';
import { createFreshModels } from '../support/fresh-models.ts';
import { MODEL_ON, useRouter } from '../support/local.ts';

// It would send what agents do to its vendor.
setTracingDisabled(true);

// A pause between the messages, so that the first ones have left before the upstream breaks off.
const models = createFreshModels(1);
const router = useRouter({ delayMs: 2, catalog: models.catalog });
beforeEach(() => router().upstreams.reset());

/** As the SDK is by default: on the Responses API. */
const createRunner = () => {
  const { baseUrl, key: apiKey } = router();
  const openAIClient = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0 });
  return new Runner({ modelProvider: new OpenAIProvider({ openAIClient }) });
};

const createWeather = () => {
  const asked: string[] = [];
  const weather = tool({
    name: 'weather',
    description: 'The weather in a city',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      asked.push(city);
      return `sunny in ${city}`;
    },
  });
  return { asked, weather };
};

const STREAM = { stream: true } as const;
const PARIS_AND_ROME = 'call weather {"city":"Paris"} and call weather {"city":"Rome"}';

describe.each(Object.entries(MODEL_ON))('an upstream that speaks %s', (protocol, model) => {
  test('the Agents SDK runs parallel tools and sends the reasoning back with their results', async () => {
    const { asked, weather } = createWeather();
    const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model, tools: [weather] });
    const { finalOutput, state } = await createRunner().run(
      agent,
      `think Let me see.\n${PARIS_AND_ROME}`,
    );
    expect(finalOutput).toContain('sunny in Rome');
    expect(asked).toEqual(['Paris', 'Rome']);
    expect(state.usage).toMatchObject({ requests: 2, outputTokens: expect.any(Number) });
    const [first, second] = router().upstreams.calls.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('Be brief.');
    expect(second).toContain(protocol === 'chat' ? 'reasoning_content' : '"signature"');
  });

  test('the Agents SDK streams a run, its text in deltas', async () => {
    const agent = new Agent({ name: 'Guide', model });
    const result = await createRunner().run(agent, 'say One two three.', STREAM);
    let text = '';
    let pieces = 0;
    for await (const delta of result.toTextStream()) {
      text += delta;
      pieces += 1;
    }
    await result.completed;
    expect([text, result.finalOutput]).toEqual(['One two three.', 'One two three.']);
    expect(pieces).toBeGreaterThan(1);
  });

  test('the Agents SDK reads a structured output', async () => {
    const outputType = z.object({ city: z.string() });
    const agent = new Agent({ name: 'Guide', model, outputType });
    const { finalOutput } = await createRunner().run(agent, 'Which city?');
    expect(finalOutput).toEqual({ city: expect.any(String) });
  });

  test('an agent of the Agents SDK hands over to another one', async () => {
    const poet = new Agent({ name: 'Poet', model, instructions: 'Speak in verse.' });
    const guide = new Agent({ name: 'Guide', model, handoffs: [poet] });
    const { lastAgent, finalOutput } = await createRunner().run(guide, 'call transfer_to_Poet {}');
    expect(lastAgent?.name).toBe('Poet');
    expect(finalOutput).toContain('The tool said');
    expect(JSON.stringify(router().upstreams.calls.at(-1)?.body)).toContain('Speak in verse.');
  });

  test('a stream that breaks off is an error of the run of the Agents SDK', async () => {
    const agent = new Agent({
      name: 'Guide',
      model: models.next(protocol as keyof typeof MODEL_ON),
    });
    const result = await createRunner().run(agent, 'fault truncate=4\nsay One two three.', STREAM);
    const read = async () => {
      for await (const _ of result);
      await result.completed;
    };
    expect((await rejection<Error>(read())).message).toContain('temporarily unavailable');
  });
});
