import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from '@anthropic-ai/sdk-0';
import { createReader, createWeather, IMAGE, PLACE, WEATHER } from './common.mjs';

const textOf = ({ content }) => content.map(({ text }) => text ?? '').join('');
const usageOf = ({ usage }) => ({ input: usage.input_tokens, output: usage.output_tokens });

const messages = (Sdk) => (order) => {
  const { baseUrl, key, model, prompt } = order;
  const client = new Sdk({ baseURL: baseUrl, apiKey: key });
  const body = { model, max_tokens: 1000, messages: [{ role: 'user', content: prompt }] };
  const read = (message) => ({ text: textOf(message), usage: usageOf(message) });
  return {
    list: async () => {
      const models = [];
      for await (const { id } of client.models.list()) models.push(id);
      return { models };
    },
    ask: async () => read(await client.messages.create(body)),
    stream: async () => {
      const { state, take, signal } = createReader(order);
      const stream = client.messages.stream(body, { signal }).on('text', take);
      return { ...state, usage: usageOf(await stream.finalMessage()), ...state };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { schema, ...rest } = WEATHER;
      const tools = [{ ...rest, input_schema: schema }];
      const first = await client.messages.create({ ...body, tools });
      const results = first.content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: run(input) }));
      const next = [
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ];
      const last = await client.messages.create({
        ...body,
        tools,
        messages: [...body.messages, ...next],
      });
      return { text: textOf(last), called };
    },
    structured: async () => {
      const output_config = { format: { type: 'json_schema', schema: PLACE } };
      const message = await client.messages.create({ ...body, output_config });
      return { value: JSON.parse(textOf(message)) };
    },
    image: async () => {
      const source = { type: 'base64', media_type: 'image/png', data: IMAGE };
      const content = [
        { type: 'image', source },
        { type: 'text', text: prompt },
      ];
      return read(await client.messages.create({ ...body, messages: [{ role: 'user', content }] }));
    },
  };
};

export const clients = {
  '@anthropic-ai/sdk messages': messages(Anthropic),
  '@anthropic-ai/sdk-0 messages': messages(Anthropic0),
};
