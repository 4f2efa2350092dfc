import { OpenAI } from '@llamaindex/openai';
import { createReader, createWeather, IMAGE_URL, WEATHER } from './common.mjs';

const llamaIndex = (order) => {
  const { baseUrl, key, model, prompt } = order;
  const llm = new OpenAI({ model, apiKey: key, baseURL: `${baseUrl}/v1` });
  const messages = [{ role: 'user', content: prompt }];
  return {
    ask: async () => ({ text: (await llm.chat({ messages })).message.content }),
    stream: async () => {
      // It takes no signal, and leaving the loop does not end the request.
      if (order.cancel) return { missing: true };
      const { state, take } = createReader(order);
      for await (const { delta } of await llm.chat({ messages, stream: true })) take(delta);
      return state;
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { name, description, schema: parameters } = WEATHER;
      const tools = [{ call: run, metadata: { name, description, parameters } }];
      const first = await llm.chat({ messages, tools });
      const calls = first.message.options.toolCall;
      const results = calls.map(({ id, input }) => ({
        role: 'user',
        content: run(input),
        options: { toolResult: { id, isError: false, result: 'done' } },
      }));
      const last = await llm.chat({ messages: [...messages, first.message, ...results], tools });
      return { text: last.message.content, called };
    },
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ];
      return { text: (await llm.chat({ messages: [{ role: 'user', content }] })).message.content };
    },
  };
};

export const clients = { '@llamaindex/openai chat': llamaIndex };
