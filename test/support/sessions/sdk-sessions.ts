import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const DESCRIPTION = 'Appends to a file.';
const PARAMETERS = {
  type: 'object' as const,
  properties: { path: { type: 'string' }, text: { type: 'string' } },
  required: ['path', 'text'],
};

type Address = { baseUrl: string; key: string; model: string };

/** Says one prompt of a session, calls the tool, and returns the model's last words. */
type Say = (prompt: string, call: (text: string) => string) => Promise<string>;

const chatResult = (
  called: OpenAI.Chat.ChatCompletionMessageToolCall,
  call: (text: string) => string,
): OpenAI.Chat.ChatCompletionMessageParam => {
  if (called.type !== 'function') throw new Error(called.type);
  return { role: 'tool', tool_call_id: called.id, content: call(called.function.arguments) };
};

const onChat = ({ baseUrl, key, model }: Address): Say => {
  const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });
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

const onMessages = ({ baseUrl, key, model }: Address): Say => {
  const client = new Anthropic({ baseURL: baseUrl, apiKey: key });
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

const onResponses = ({ baseUrl, key, model }: Address): Say => {
  const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });
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

/** A session with the tool `append` by an official SDK of each protocol of callers. */
export const SDK_SESSIONS = { chat: onChat, messages: onMessages, responses: onResponses };
