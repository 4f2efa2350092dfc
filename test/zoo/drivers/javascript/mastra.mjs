import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import * as z from 'zod';
import { createReader, createWeather, IMAGE_URL, WEATHER } from './common.mjs';

const usageOf = ({ inputTokens: input, outputTokens: output }) =>
  input === undefined ? undefined : { input, output };

const mastra = (order) => {
  const { baseUrl, key, model: id, prompt } = order;
  const model = { id: `router/${id}`, url: `${baseUrl}/v1`, apiKey: key };
  const agent = (parts = {}) =>
    new Agent({ id: 'zoo', name: 'zoo', instructions: 'Be brief.', model, ...parts });
  const generate = async (...args) => {
    const result = await agent().generate(...args);
    if (result.error) throw result.error;
    return result;
  };
  return {
    ask: async () => {
      const { text, usage } = await generate(prompt);
      return { text, usage: usageOf(usage) };
    },
    stream: async () => {
      const { state, take, signal } = createReader(order);
      const result = await agent().stream(prompt, { abortSignal: signal });
      for await (const piece of result.textStream) take(piece);
      if (signal.aborted) return state;
      if (result.error) throw result.error;
      return { ...state, usage: usageOf(await result.usage) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const get_weather = createTool({
        id: WEATHER.name,
        description: WEATHER.description,
        inputSchema: z.object({ city: z.string() }),
        execute: async (input) => run(input),
      });
      const { text } = await agent({ tools: { get_weather } }).generate(prompt);
      return { text, called };
    },
    structured: async () => {
      const schema = z.object({ city: z.string(), people: z.number().int() });
      const { object } = await generate(prompt, { structuredOutput: { schema } });
      return { value: object };
    },
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image', image: IMAGE_URL, mimeType: 'image/png' },
      ];
      const { text } = await generate([{ role: 'user', content }]);
      return { text };
    },
  };
};

export const clients = { '@mastra/core chat': mastra };
