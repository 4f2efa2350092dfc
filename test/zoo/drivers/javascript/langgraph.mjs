import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import * as z from 'zod';
import { createReader, createWeather, IMAGE_URL, WEATHER } from './common.mjs';

const usageOf = (usage) => usage && { input: usage.input_tokens, output: usage.output_tokens };

const langgraph = (order) => {
  const { baseUrl, key, model, prompt } = order;
  const llm = new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: `${baseUrl}/v1` } });
  const messages = [{ role: 'user', content: prompt }];
  const agent = (parts = {}) => createReactAgent({ llm, tools: [], ...parts });
  const last = ({ messages: all }) => all.at(-1);
  return {
    ask: async () => {
      const answer = last(await agent().invoke({ messages }));
      return { text: answer.text, usage: usageOf(answer.usage_metadata) };
    },
    stream: async () => {
      const { state, take, signal } = createReader(order);
      let whole;
      const options = { streamMode: 'messages', signal };
      for await (const [chunk] of await agent().stream({ messages }, options)) {
        take(chunk.text);
        whole = whole ? whole.concat(chunk) : chunk;
      }
      return { ...state, usage: usageOf(whole?.usage_metadata) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { name, description } = WEATHER;
      const schema = z.object({ city: z.string() });
      const weather = tool(async (input) => run(input), { name, description, schema });
      const answer = last(await agent({ tools: [weather] }).invoke({ messages }));
      return { text: answer.text, called };
    },
    structured: async () => {
      const responseFormat = z.object({ city: z.string(), people: z.number().int() });
      const { structuredResponse } = await agent({ responseFormat }).invoke({ messages });
      return { value: structuredResponse };
    },
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ];
      return { text: last(await agent().invoke({ messages: [{ role: 'user', content }] })).text };
    },
  };
};

export const clients = { '@langchain/langgraph chat': langgraph };
