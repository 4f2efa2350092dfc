import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddedUpstream } from '../../local/embedded-upstream/server.ts';
import { startInstantUpstream } from '../support/instant-upstream.ts';
import { type StrictUpstream, startStrictUpstream } from '../support/strict-upstream/server.ts';
import { VENDORS } from '../support/strict-upstream/vendors.ts';
import type { Meant } from '../support/strict-upstream/wire-response.ts';
import { judgeOf } from '../support/type-judge.ts';
import type { Wire } from '../support/wires.ts';

/** The vendors' own clients read the strict upstreams, by which the router's side of each protocol is judged, and the embedded one. */
let upstream: StrictUpstream;
let embedded: EmbeddedUpstream;
beforeAll(async () => {
  [upstream, embedded] = await Promise.all([startStrictUpstream(), startInstantUpstream('key')]);
});
afterAll(() => Promise.all([upstream.close(), embedded.close()]));

type Read = {
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  /** Tokens of the input, those of a cache, and of the output. */
  usage: number[];
};

const KEY = { apiKey: 'key', maxRetries: 0 };
const TOOL = { name: 'read', parameters: { type: 'object' as const, properties: {} } };

const READERS: Record<Wire, (baseURL: string, prompt: string) => Promise<Read>> = {
  chat: async (baseURL, prompt) => {
    const { choices, usage } = await new OpenAI({ baseURL, ...KEY }).chat.completions
      .stream({
        ...{ model: 'm', messages: [{ role: 'user', content: prompt }] },
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
      usage: [
        usage?.prompt_tokens ?? 0,
        usage?.prompt_tokens_details?.cached_tokens ?? 0,
        usage?.completion_tokens ?? 0,
      ],
    };
  },
  messages: async (baseURL, prompt) => {
    const { content, usage } = await new Anthropic({
      baseURL,
      apiKey: 'key',
      authToken: null,
      defaultHeaders: { 'x-api-key': 'key' },
      maxRetries: 0,
    }).messages
      .stream({
        ...{ model: 'm', max_tokens: 20, messages: [{ role: 'user', content: prompt }] },
        tools: [{ name: 'read', input_schema: TOOL.parameters }],
      })
      .finalMessage();
    const cached = usage.cache_read_input_tokens ?? 0;
    return {
      text: content.map((one) => (one.type === 'text' ? one.text : '')).join(''),
      calls: content.flatMap((one) =>
        one.type === 'tool_use'
          ? { id: one.id, name: one.name, arguments: JSON.stringify(one.input) }
          : [],
      ),
      usage: [usage.input_tokens + cached, cached, usage.output_tokens],
    };
  },
  responses: async (baseURL, prompt) => {
    const response = await new OpenAI({ baseURL, ...KEY }).responses
      .stream({
        ...{ model: 'm', input: prompt, store: false },
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
      usage: [
        response.usage?.input_tokens ?? 0,
        response.usage?.input_tokens_details.cached_tokens ?? 0,
        response.usage?.output_tokens ?? 0,
      ],
    };
  },
  gemini: async (baseUrl, prompt) => {
    const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl, apiVersion: '' } });
    const read: Read = { text: '', calls: [], usage: [] };
    const { name, parameters } = TOOL;
    for await (const chunk of await client.models.generateContentStream({
      ...{ model: 'm', contents: prompt },
      config: { tools: [{ functionDeclarations: [{ name, parametersJsonSchema: parameters }] }] },
    })) {
      read.text += chunk.text ?? '';
      for (const one of chunk.functionCalls ?? []) {
        read.calls.push({
          ...{ id: one.id ?? '', name: one.name ?? '' },
          arguments: JSON.stringify(one.args),
        });
      }
      const { promptTokenCount = 0, cachedContentTokenCount = 0 } = chunk.usageMetadata ?? {};
      const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = chunk.usageMetadata ?? {};
      const output = candidatesTokenCount + thoughtsTokenCount;
      read.usage = [promptTokenCount, cachedContentTokenCount, output];
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

const assertTyped = (wire: Wire, events: string[]) => {
  const data = events.flatMap((one) => /^data: (\{.+)$/m.exec(one)?.[1] ?? []);
  expect(data.length).toBeGreaterThan(1);
  // The messages vendor documents pings, which its types lack.
  for (const one of data.filter((one) => one !== '{"type":"ping"}'))
    expect(TYPES[wire](JSON.parse(one)), one).toEqual([]);
};

describe.each(Object.entries(READERS) as [Wire, (typeof READERS)[Wire]][])('%s', (wire, read) => {
  test("the vendor's own client reads what its strict upstream means, and sends what it accepts", async () => {
    upstream.script({ meant: MEANT, form: FORM, sizes: [5, 1_000] });
    expect(await read(upstream.urls[wire], 'hi')).toEqual({
      ...{ text: MEANT.text, calls: MEANT.calls },
      usage: [MEANT.usage.input, MEANT.usage.cached, MEANT.usage.output],
    });
    expect(upstream.take()).toMatchObject([{ wire, rejections: [] }]);
  });

  test("each event of the strict upstream is of the vendor's types", () => {
    const events = VENDORS[wire].streamed(MEANT, FORM).split(/\r?\n\r?\n/);
    assertTyped(wire, events);
  });

  test("the vendor's own client reads what the embedded upstream means", async () => {
    const base = embedded.baseUrl(wire);
    const called = await read(base, `think Hm.\ncached 2\ncall read ${CALL.arguments}`);
    expect(called).toMatchObject({
      ...{ text: '', calls: [{ name: 'read', arguments: CALL.arguments }] },
      // Two words of the tool.
      usage: [expect.any(Number), 2, 2],
    });
    const said = await read(base, `cached 3\nsay ${MEANT.text}`);
    expect(said).toMatchObject({ text: MEANT.text, calls: [], usage: [expect.any(Number), 3, 3] });
  });
});

// Those of the other protocols are written by the router's own codecs, which sdk-answers and sdk-events judge.
test("each event of the embedded upstream is of Google's types", async () => {
  for (const text of ['think Hm.\ncached 2\ncall read {}', 'cached 3\nsay One two.']) {
    const path = `${embedded.baseUrl('gemini')}/models/m:streamGenerateContent?alt=sse`;
    const tools = [{ functionDeclarations: [{ name: 'read' }] }];
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'key' },
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }], tools }),
    });
    const sent = await response.text();
    assertTyped('gemini', sent.split('\n\n'));
    expect(sent).toContain('"cachedContentTokenCount":');
  }
});
