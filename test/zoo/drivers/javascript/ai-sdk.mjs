import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
import { createReader, createWeather, IMAGE_URL, PLACE, WEATHER } from './common.mjs';

const usageOf = ({ inputTokens: input, outputTokens: output }) =>
  input === undefined ? undefined : { input, output };

const sdk = (modelOf) => (order) => {
  const { prompt } = order;
  const model = modelOf(order);
  return {
    ask: async () => {
      const { text, usage } = await generateText({ model, prompt });
      return { text, usage: usageOf(usage) };
    },
    stream: async () => {
      const { state, take, signal } = createReader(order);
      let failure;
      const onError = ({ error }) => {
        failure = error;
      };
      const result = streamText({ model, prompt, abortSignal: signal, onError });
      for await (const piece of result.textStream) take(piece);
      if (failure) throw failure;
      if (signal.aborted) return state;
      return { ...state, usage: usageOf(await result.usage) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const get_weather = tool({
        description: WEATHER.description,
        inputSchema: jsonSchema(WEATHER.schema),
        execute: async (input) => run(input),
      });
      const { text } = await generateText({
        model,
        prompt,
        tools: { get_weather },
        stopWhen: stepCountIs(3),
      });
      return { text, called };
    },
    structured: async () => {
      const { output } = await generateText({
        model,
        prompt,
        output: Output.object({ schema: jsonSchema(PLACE) }),
      });
      return { value: output };
    },
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image', image: IMAGE_URL },
      ];
      const { text } = await generateText({ model, messages: [{ role: 'user', content }] });
      return { text };
    },
  };
};

const openai = ({ baseUrl, key }) => createOpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });

export const clients = {
  '@ai-sdk/openai responses': sdk((order) => openai(order)(order.model)),
  '@ai-sdk/openai chat': sdk((order) => openai(order).chat(order.model)),
  '@ai-sdk/openai-compatible chat': sdk(({ baseUrl, key, model }) =>
    createOpenAICompatible({
      name: 'router',
      baseURL: `${baseUrl}/v1`,
      apiKey: key,
      supportsStructuredOutputs: true,
      includeUsage: true,
    })(model),
  ),
  '@ai-sdk/anthropic messages': sdk(({ baseUrl, key, model }) =>
    createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey: key })(model),
  ),
  '@openrouter/ai-sdk-provider chat': sdk(({ baseUrl, key, model }) =>
    createOpenRouter({ baseURL: `${baseUrl}/v1`, apiKey: key })(model),
  ),
};
