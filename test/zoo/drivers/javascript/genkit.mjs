import { compatOaiModelRef, openAICompatible } from '@genkit-ai/compat-oai';
import { genkit, z } from 'genkit';
import { createReader, createWeather, IMAGE_URL, WEATHER } from './common.mjs';

const genkitClient = (order) => {
  const { baseUrl, key, model: id, prompt } = order;
  const ai = genkit({
    plugins: [openAICompatible({ name: 'router', apiKey: key, baseURL: `${baseUrl}/v1` })],
  });
  const model = compatOaiModelRef({ name: `router/${id}` });
  const usageOf = ({ usage }) =>
    usage?.inputTokens && { input: usage.inputTokens, output: usage.outputTokens };
  return {
    ask: async () => {
      const answer = await ai.generate({ model, prompt });
      return { text: answer.text, usage: usageOf(answer) };
    },
    stream: async () => {
      const { state, take, signal } = createReader(order);
      const { stream, response } = ai.generateStream({ model, prompt, abortSignal: signal });
      for await (const { text } of stream) take(text);
      return { ...state, usage: usageOf(await response) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const inputSchema = z.object({ city: z.string() });
      const weather = ai.defineTool(
        { name: WEATHER.name, description: WEATHER.description, inputSchema },
        async (input) => run(input),
      );
      const { text } = await ai.generate({ model, prompt, tools: [weather] });
      return { text, called };
    },
    structured: async () => {
      const schema = z.object({ city: z.string(), people: z.number().int() });
      return { value: (await ai.generate({ model, prompt, output: { schema } })).output };
    },
    image: async () => {
      const { text } = await ai.generate({
        model,
        prompt: [{ text: prompt }, { media: { url: IMAGE_URL } }],
      });
      return { text };
    },
  };
};

export const clients = { '@genkit-ai/compat-oai chat': genkitClient };
