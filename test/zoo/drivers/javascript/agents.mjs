import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import * as z from 'zod';
import { createReader, createWeather, IMAGE_URL, WEATHER } from './common.mjs';

setTracingDisabled(true);

const agents = (useResponses) => (order) => {
  const { baseUrl, key, model, prompt } = order;
  const modelProvider = new OpenAIProvider({ baseURL: `${baseUrl}/v1`, apiKey: key, useResponses });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = (parts = {}) => new Agent({ name: 'zoo', model, ...parts });
  const usageOf = (result) => {
    const { inputTokens: input, outputTokens: output } =
      result.state.usage ?? result.runContext.usage;
    return input > 0 ? { input, output } : undefined;
  };
  return {
    ask: async () => {
      const result = await runner.run(agent(), prompt);
      return { text: result.finalOutput, usage: usageOf(result) };
    },
    stream: async () => {
      const { state, take, signal } = createReader(order);
      const result = await runner.run(agent(), prompt, { stream: true, signal });
      for await (const event of result) {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
          take(event.data.delta);
      }
      if (signal.aborted) return state;
      await result.completed;
      return { ...state, usage: usageOf(result) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { name, description } = WEATHER;
      const weather = tool({
        name,
        description,
        parameters: z.object({ city: z.string() }),
        execute: async (input) => run(input),
      });
      const { finalOutput } = await runner.run(agent({ tools: [weather] }), prompt);
      return { text: finalOutput, called };
    },
    structured: async () => {
      const outputType = z.object({ city: z.string(), people: z.number().int() });
      const { finalOutput } = await runner.run(agent({ outputType }), prompt);
      return { value: finalOutput };
    },
    image: async () => {
      const content = [
        { type: 'input_text', text: prompt },
        { type: 'input_image', image: IMAGE_URL },
      ];
      const { finalOutput } = await runner.run(agent(), [{ role: 'user', content }]);
      return { text: finalOutput };
    },
  };
};

export const clients = {
  '@openai/agents responses': agents(true),
  '@openai/agents chat': agents(false),
};
