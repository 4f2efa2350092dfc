import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { checksAll } from '../support/seeds.ts';
import { WIRES } from '../support/wires.ts';

/** Sessions of an agent with tools, held through each pair of a caller's and an upstream's protocol by official SDKs. */
const models = WIRES.map((protocol) =>
  modelOn([targetAt('https://upstream.example', { protocol, upstream: protocol })], {
    id: `held/${protocol}`,
  }),
);
const router = useRouter({ catalog: models });

type Files = Map<string, string>;
type Called = { path: string; text: string };

/** The tool: appends to a file, and returns what is in it. */
const append = (files: Files, { path, text }: Called): string => {
  const whole = (files.get(path) ?? '') + text;
  files.set(path, whole);
  return whole;
};

/** A long session asks each pair what the first steps of it asked. */
const LENGTH = checksAll ? 20 : 8;
/** The calls of each step: one, or two at once. */
const STEPS = Array.from({ length: LENGTH }, (_, step): Called[] =>
  Array.from({ length: step % 4 === 3 ? 2 : 1 }, (_, call) => ({
    path: `f${(step + call) % 3}.txt`,
    text: `Größe ${step}.${call};`,
  })),
);
const promptOf = (calls: Called[]): string =>
  ['think Step.', ...calls.map((one) => `call append ${JSON.stringify(one)}`)].join('\n');
const DESCRIPTION = 'Appends to a file.';
const PARAMETERS = {
  type: 'object' as const,
  properties: { path: { type: 'string' }, text: { type: 'string' } },
  required: ['path', 'text'],
};

/** Says one prompt of a session, calls the tool, and returns the model's last words. */
type Say = (prompt: string, call: (text: string) => string) => Promise<string>;

const chatResult = (
  called: OpenAI.Chat.ChatCompletionMessageToolCall,
  call: (text: string) => string,
): OpenAI.Chat.ChatCompletionMessageParam => {
  if (called.type !== 'function') throw new Error(called.type);
  return { role: 'tool', tool_call_id: called.id, content: call(called.function.arguments) };
};

const onChat = (model: string): Say => {
  const client = new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey: router().key });
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [];
  const tool = { name: 'append', description: DESCRIPTION, parameters: PARAMETERS };
  return async (prompt, call) => {
    messages.push({ role: 'user', content: prompt });
    for (;;) {
      const stream = client.chat.completions.stream({
        model,
        messages,
        tools: [{ type: 'function', function: tool }],
      });
      const { message } = (await stream.finalChatCompletion()).choices[0] ?? {};
      if (!message) throw new Error('no choice');
      messages.push(message);
      const calls = message.tool_calls ?? [];
      if (calls.length === 0) return message.content ?? '';
      messages.push(...calls.map((one) => chatResult(one, call)));
    }
  };
};

const onMessages = (model: string): Say => {
  const client = new Anthropic({ baseURL: router().baseUrl, apiKey: router().key });
  const messages: Anthropic.MessageParam[] = [];
  return async (prompt, call) => {
    messages.push({ role: 'user', content: prompt });
    for (;;) {
      const { content } = await client.messages
        .stream({
          ...{ model, messages, max_tokens: 1_000 },
          tools: [{ name: 'append', description: DESCRIPTION, input_schema: PARAMETERS }],
        })
        .finalMessage();
      messages.push({ role: 'assistant', content: content as Anthropic.ContentBlockParam[] });
      const results = content.flatMap((block) =>
        block.type === 'tool_use'
          ? {
              type: 'tool_result' as const,
              tool_use_id: block.id,
              content: call(JSON.stringify(block.input)),
            }
          : [],
      );
      if (results.length > 0) messages.push({ role: 'user', content: results });
      else return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    }
  };
};

const onResponses = (model: string): Say => {
  const client = new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey: router().key });
  const input: OpenAI.Responses.ResponseInput = [];
  return async (prompt, call) => {
    input.push({ role: 'user', content: prompt });
    for (;;) {
      const response = await client.responses
        .stream({
          ...{ model, input, store: false },
          tools: [{ type: 'function', name: 'append', parameters: PARAMETERS, strict: false }],
        })
        .finalResponse();
      input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]));
      const calls = response.output.flatMap((item) => (item.type === 'function_call' ? item : []));
      if (calls.length === 0) return response.output_text;
      for (const { call_id, arguments: text } of calls) {
        input.push({ type: 'function_call_output', call_id, output: call(text) });
      }
    }
  };
};

const CALLERS = { chat: onChat, messages: onMessages, responses: onResponses };

describe.each(WIRES)('an upstream of %s', (protocol) => {
  test.each(Object.entries(CALLERS))(
    `a session of ${LENGTH} steps with tools by an official SDK of %s ends in the same files`,
    async (_, open) => {
      const files: Files = new Map();
      const say = open(`held/${protocol}`);
      const wanted: Files = new Map();
      for (const step of STEPS) {
        const words = await say(promptOf(step), (text) => append(files, JSON.parse(text)));
        for (const call of step) expect(words).toContain(append(wanted, call));
      }
      expect(files).toEqual(wanted);
    },
  );

  test('thinking that the upstream signed is sent back to it, from a caller of each protocol', async () => {
    for (const open of Object.values(CALLERS)) {
      router().upstreams.reset();
      await open(`held/${protocol}`)(promptOf([{ path: 'a', text: 'b' }]), () => 'done');
      const { calls } = router().upstreams;
      expect(calls.length).toBe(2);
      const sent = JSON.stringify(calls[1]?.body);
      const isSigned = /"signature":|"encrypted_content":|"thoughtSignature":/.test(sent);
      // No upstream of chat signs.
      expect(isSigned).toBe(protocol !== 'chat');
      expect(sent).not.toContain('skip_thought_signature');
    }
  });
});
