import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StrictUpstream, startStrictUpstream } from '../support/strict-upstream/server.ts';
import { VENDORS } from '../support/strict-upstream/vendors.ts';
import type { Meant } from '../support/strict-upstream/wire-response.ts';
import { judgeOf } from '../support/type-judge.ts';
import type { Wire } from '../support/wires.ts';

/** The vendors' own clients read the strict upstreams, by which the router's side of each protocol is judged. */
let upstream: StrictUpstream;
beforeAll(async () => {
  upstream = await startStrictUpstream();
});
afterAll(() => upstream.close());

type Read = {
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  usage: number[];
};

const KEY = { apiKey: 'key', maxRetries: 0 };
const TOOL = { name: 'read', parameters: { type: 'object' as const, properties: {} } };

const READERS: Record<Wire, (baseURL: string) => Promise<Read>> = {
  chat: async (baseURL) => {
    const { choices, usage } = await new OpenAI({ baseURL, ...KEY }).chat.completions
      .stream({
        ...{ model: 'm', messages: [{ role: 'user', content: 'hi' }] },
        tools: [{ type: 'function', function: TOOL }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion();
    const { content, tool_calls: calls = [] } = choices[0]?.message ?? {};
    return {
      text: content ?? '',
      calls: calls.flatMap((one) =>
        one.type === 'function'
          ? { id: one.id, name: one.function.name, arguments: one.function.arguments }
          : [],
      ),
      usage: [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0],
    };
  },
  messages: async (baseURL) => {
    const { content, usage } = await new Anthropic({
      baseURL,
      apiKey: 'key',
      authToken: null,
      defaultHeaders: { 'x-api-key': 'key' },
      maxRetries: 0,
    }).messages
      .stream({
        ...{ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] },
        tools: [{ name: 'read', input_schema: TOOL.parameters }],
      })
      .finalMessage();
    return {
      text: content.map((one) => (one.type === 'text' ? one.text : '')).join(''),
      calls: content.flatMap((one) =>
        one.type === 'tool_use'
          ? { id: one.id, name: one.name, arguments: JSON.stringify(one.input) }
          : [],
      ),
      usage: [usage.input_tokens + (usage.cache_read_input_tokens ?? 0), usage.output_tokens],
    };
  },
  responses: async (baseURL) => {
    const response = await new OpenAI({ baseURL, ...KEY }).responses
      .stream({
        ...{ model: 'm', input: 'hi', store: false },
        tools: [{ type: 'function', ...TOOL, strict: false }],
      })
      .finalResponse();
    return {
      text: response.output_text,
      calls: response.output.flatMap((one) =>
        one.type === 'function_call'
          ? { id: one.call_id, name: one.name, arguments: one.arguments }
          : [],
      ),
      usage: [response.usage?.input_tokens ?? 0, response.usage?.output_tokens ?? 0],
    };
  },
  gemini: async (baseUrl) => {
    const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl, apiVersion: '' } });
    const read: Read = { text: '', calls: [], usage: [] };
    const { name, parameters } = TOOL;
    for await (const chunk of await client.models.generateContentStream({
      ...{ model: 'm', contents: 'hi' },
      config: { tools: [{ functionDeclarations: [{ name, parametersJsonSchema: parameters }] }] },
    })) {
      read.text += chunk.text ?? '';
      for (const one of chunk.functionCalls ?? []) {
        read.calls.push({
          ...{ id: one.id ?? '', name: one.name ?? '' },
          arguments: JSON.stringify(one.args),
        });
      }
      const { promptTokenCount = 0, candidatesTokenCount = 0 } = chunk.usageMetadata ?? {};
      read.usage = [promptTokenCount, candidatesTokenCount];
    }
    return read;
  },
};

const CALL = { id: 'toolu_1', name: 'read', arguments: '{"größe":"🙂"}' };
const MEANT: Meant = {
  ...{ thinking: { text: 'Hm.', signature: 'c2ln' }, text: 'Hello 🙂 you', calls: [CALL] },
  ...{ finish: 'tool-calls', usage: { input: 7, cached: 2, output: 3 } },
};
const FORM = { isWhole: false, isAscii: true, units: [3] };

const ASK = 'openai/resources/responses/responses';
/** Members that the vendor added since, and leaves out where there is nothing to say. */
const NEWER =
  'citations caller container stop_details inference_geo server_tool_use service_tier speed output_tokens_details diagnostics cache_creation_input_tokens cache_read_input_tokens input_tokens'.split(
    ' ',
  );

/** The types of each piece of an answer. */
const TYPES: Record<Wire, ReturnType<typeof judgeOf>> = {
  chat: judgeOf('openai/resources/chat/completions/completions', 'ChatCompletionChunk'),
  messages: judgeOf(
    '@anthropic-ai/sdk/resources/messages/messages',
    'RawMessageStreamEvent',
    NEWER,
  ),
  responses: judgeOf(ASK, 'ResponseStreamEvent', ['output_text']),
  gemini: judgeOf('@google/genai', 'GenerateContentResponse'),
};

describe.each(Object.entries(READERS) as [Wire, (typeof READERS)[Wire]][])('%s', (wire, read) => {
  test("the vendor's own client reads what its strict upstream means, and sends what it accepts", async () => {
    upstream.script({ meant: MEANT, form: FORM, sizes: [5, 1_000] });
    expect(await read(upstream.urls[wire])).toEqual({
      ...{ text: MEANT.text, calls: MEANT.calls },
      usage: [MEANT.usage.input, MEANT.usage.output],
    });
    expect(upstream.take()).toMatchObject([{ wire, rejections: [] }]);
  });

  test("each event of the strict upstream is of the vendor's types", () => {
    const events = VENDORS[wire].streamed(MEANT, FORM).split(/\r?\n\r?\n/);
    const data = events.flatMap((one) => /^data: (\{.+)$/m.exec(one)?.[1] ?? []);
    expect(data.length).toBeGreaterThan(3);
    // The messages vendor documents pings, which its types lack.
    for (const one of data.filter((one) => one !== '{"type":"ping"}'))
      expect(TYPES[wire](JSON.parse(one)), one).toEqual([]);
  });
});
