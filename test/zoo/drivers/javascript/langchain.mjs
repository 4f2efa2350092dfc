import { ChatAnthropic } from '@langchain/anthropic';
import { ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { createReader, createWeather, IMAGE_URL, PLACE, WEATHER } from './common.mjs';

const usageOf = (usage) => usage && { input: usage.input_tokens, output: usage.output_tokens };

const langchain = (connect) => (order) => {
  const { prompt } = order;
  const model = connect(order);
  return {
    ask: async () => {
      const message = await model.invoke(prompt);
      return { text: message.text, usage: usageOf(message.usage_metadata) };
    },
    stream: async () => {
      const { state, take, signal } = createReader(order);
      let whole;
      for await (const chunk of await model.stream(prompt, { signal })) {
        take(chunk.text);
        whole = whole ? whole.concat(chunk) : chunk;
      }
      return { ...state, usage: usageOf(whole.usage_metadata) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { schema: parameters, ...rest } = WEATHER;
      const bound = model.bindTools([{ type: 'function', function: { ...rest, parameters } }]);
      const asked = [{ role: 'user', content: prompt }];
      const first = await bound.invoke(asked);
      const results = first.tool_calls.map(
        ({ id, args }) => new ToolMessage({ tool_call_id: id, content: run(args) }),
      );
      const last = await bound.invoke([...asked, first, ...results]);
      return { text: last.text, called };
    },
    structured: async () => ({
      value: await model.withStructuredOutput({ title: 'place', ...PLACE }).invoke(prompt),
    }),
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ];
      return { text: (await model.invoke([{ role: 'user', content }])).text };
    },
  };
};

const openai = (useResponsesApi) =>
  langchain(
    ({ baseUrl, key, model }) =>
      new ChatOpenAI({
        model,
        apiKey: key,
        useResponsesApi,
        configuration: { baseURL: `${baseUrl}/v1` },
      }),
  );

export const clients = {
  '@langchain/openai chat': openai(false),
  '@langchain/openai responses': openai(true),
  '@langchain/anthropic messages': langchain(
    ({ baseUrl, key, model }) =>
      new ChatAnthropic({ model, apiKey: key, anthropicApiUrl: baseUrl }),
  ),
};
