import OpenAI from 'openai';
import OpenAI5 from 'openai-5';
import { createReader, createWeather, IMAGE_URL, PLACE, WEATHER } from './common.mjs';

const usageOf = (usage) =>
  usage && {
    input: usage.prompt_tokens ?? usage.input_tokens,
    output: usage.completion_tokens ?? usage.output_tokens,
  };

const chat = (Sdk) => (order) => {
  const { baseUrl, key, model, prompt } = order;
  const client = new Sdk({ baseURL: `${baseUrl}/v1`, apiKey: key });
  const messages = [{ role: 'user', content: prompt }];
  const read = ({ choices, usage }) => ({
    text: choices[0].message.content,
    usage: usageOf(usage),
  });
  return {
    list: async () => {
      const models = [];
      for await (const { id } of client.models.list()) models.push(id);
      return { models };
    },
    ask: async () => read(await client.chat.completions.create({ model, messages })),
    stream: async () => {
      const { state, take, signal } = createReader(order);
      const options = { model, messages, stream: true, stream_options: { include_usage: true } };
      let usage;
      for await (const chunk of await client.chat.completions.create(options, { signal })) {
        take(chunk.choices[0]?.delta.content);
        usage = usageOf(chunk.usage) ?? usage;
      }
      return { ...state, usage };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { schema: parameters, ...rest } = WEATHER;
      const tool = {
        type: 'function',
        function: { ...rest, parameters, parse: JSON.parse, function: run },
      };
      const runner = client.chat.completions.runTools({ model, messages, tools: [tool] });
      return { text: await runner.finalContent(), called };
    },
    structured: async () => {
      const format = {
        type: 'json_schema',
        json_schema: { name: 'place', strict: true, schema: PLACE },
      };
      const answer = await client.chat.completions.create({
        model,
        messages,
        response_format: format,
      });
      return { value: JSON.parse(answer.choices[0].message.content) };
    },
    image: async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ];
      return read(
        await client.chat.completions.create({ model, messages: [{ role: 'user', content }] }),
      );
    },
  };
};

const responses = (Sdk) => (order) => {
  const { baseUrl, key, model, prompt } = order;
  const client = new Sdk({ baseURL: `${baseUrl}/v1`, apiKey: key });
  const read = ({ output_text: text, usage }) => ({ text, usage: usageOf(usage) });
  return {
    list: chat(Sdk)(order).list,
    ask: async () => read(await client.responses.create({ model, input: prompt })),
    stream: async () => {
      const { state, take, signal } = createReader(order);
      const stream = client.responses.stream({ model, input: prompt }, { signal });
      for await (const event of stream)
        if (event.type === 'response.output_text.delta') take(event.delta);
      const { usage, status } = await stream.finalResponse();
      if (status !== 'completed') throw new Error(`the response is ${status}`);
      return { ...state, usage: usageOf(usage) };
    },
    tools: async () => {
      const { called, run } = createWeather();
      const { schema: parameters, ...rest } = WEATHER;
      const tools = [{ type: 'function', ...rest, parameters, strict: true }];
      const input = [{ role: 'user', content: prompt }];
      const first = await client.responses.create({ model, input, tools });
      const calls = first.output.filter(({ type }) => type === 'function_call');
      const outputs = calls.map((call) => ({
        type: 'function_call_output',
        call_id: call.call_id,
        output: run(call.arguments),
      }));
      const next = await client.responses.create({
        model,
        input: [...input, ...first.output, ...outputs],
        tools,
      });
      return { text: next.output_text, called };
    },
    structured: async () => {
      const format = { type: 'json_schema', name: 'place', strict: true, schema: PLACE };
      const { output_parsed } = await client.responses.parse({
        model,
        input: prompt,
        text: { format },
      });
      return { value: output_parsed };
    },
    image: async () => {
      const content = [
        { type: 'input_text', text: prompt },
        { type: 'input_image', image_url: IMAGE_URL, detail: 'auto' },
      ];
      return read(await client.responses.create({ model, input: [{ role: 'user', content }] }));
    },
  };
};

export const clients = {
  'openai chat': chat(OpenAI),
  'openai responses': responses(OpenAI),
  'openai-5 chat': chat(OpenAI5),
  'openai-5 responses': responses(OpenAI5),
};
