import { InferenceClient } from '@huggingface/inference';
import { createReader, createWeather, IMAGE_URL, PLACE, WEATHER } from './common.mjs';

const huggingFace = (order) => {
  const { baseUrl, key, model, prompt } = order;
  const client = new InferenceClient(key, { endpointUrl: `${baseUrl}/v1` });
  const messages = [{ role: 'user', content: prompt }];
  const textOf = ({ choices }) => choices[0].message.content;
  return {
    ask: async () => ({ text: textOf(await client.chatCompletion({ model, messages })) }),
    stream: async () => {
      const { state, take, signal } = createReader(order);
      let usage;
      const options = { model, messages, stream_options: { include_usage: true } };
      for await (const chunk of client.chatCompletionStream(options, { signal })) {
        take(chunk.choices[0]?.delta.content);
        usage = chunk.usage ?? usage;
      }
      return {
        ...state,
        usage: usage && { input: usage.prompt_tokens, output: usage.completion_tokens },
      };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { schema: parameters, ...rest } = WEATHER;
      const tools = [{ type: 'function', function: { ...rest, parameters } }];
      const first = (await client.chatCompletion({ model, messages, tools })).choices[0].message;
      const results = first.tool_calls.map(({ id, function: { arguments: input } }) => ({
        role: 'tool',
        tool_call_id: id,
        content: run(input),
      }));
      return {
        text: textOf(
          await client.chatCompletion({ model, messages: [...messages, first, ...results], tools }),
        ),
        called,
      };
    },
    structured: async () => {
      const response_format = {
        type: 'json_schema',
        json_schema: { name: 'place', schema: PLACE, strict: true },
      };
      return {
        value: JSON.parse(
          textOf(await client.chatCompletion({ model, messages, response_format })),
        ),
      };
    },
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ];
      return {
        text: textOf(await client.chatCompletion({ model, messages: [{ role: 'user', content }] })),
      };
    },
  };
};

export const clients = { '@huggingface/inference chat': huggingFace };
