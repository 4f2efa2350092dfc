import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { callerProtocols, upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { ApiError } from '../../lambdas/support/errors.ts';
import { samplesOf } from './samples-of-type.ts';
import { exportedType, membersOf } from './type-declarations.ts';
import { WIRES, type Wire } from './wires.ts';

/** Requests with every member of the official SDKs' types. */
export type Pair = { from: CallerProtocolName; to: Wire };

/** Each way on which caller and target have different protocols. */
export const PAIRS: Pair[] = CALLER_PROTOCOLS.flatMap((from) =>
  WIRES.flatMap((to) => (from === to ? [] : [{ from, to }])),
);

type Json = Record<string, unknown>;

export const TARGET = { model: 'm', maxOutputTokens: 9_000 };

const PDF = 'data:application/pdf;base64,JVBERi0=';
const OBJECT = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};

const TYPES = {
  chat: [['openai/resources/chat/completions/completions', 'ChatCompletionCreateParamsBase']],
  messages: [['@anthropic-ai/sdk/resources/beta/messages/messages', 'MessageCreateParamsBase']],
  responses: [['openai/resources/responses/responses', 'ResponseCreateParamsBase']],
} as const;

let count = 0;
const newId = () => `toolu_${count++}`;
const newName = () => `look_${count++}`;

const CHAT = {
  // The older form excludes tools, the older name of the cap the newer one.
  functions: undefined,
  max_tokens: undefined,
  max_completion_tokens: 9,
  'image_url.url': 'https://a.test/a.png',
  'image_url.detail': 'high',
  'file.file_data': PDF,
  'function.arguments': '{"a":"b"}',
  'function_call.arguments': '{"a":"b"}',
  'function.name': 'look',
  'custom.name': 'draw',
  parameters: OBJECT,
  schema: OBJECT,
  'allowed_tools.tools': [
    { type: 'function', function: { name: 'look' } },
    { type: 'custom', custom: { name: 'draw' } },
  ],
  temperature: 0.5,
  top_p: undefined,
};

const MESSAGES = {
  // A header; stored threads are refused; the older name of `output_config.format`.
  betas: undefined,
  thread: undefined,
  output_format: undefined,
  'fallbacks.output_config': undefined,
  'messages.output_config': { effort: 'low' },
  'source.data': 'JVBERi0=',
  'source.content': [{ type: 'text', text: 'words' }],
  'source.url': 'https://a.test/a.png',
  'tool_use.id': newId,
  'tools.name': 'look',
  'tools.allowed_callers': ['code_execution_20260120'],
  input_schema: OBJECT,
  temperature: 0.5,
  top_p: 0.5,
  max_tokens: 9,
  'thinking.budget_tokens': 30_000,
};

const MODULE = 'openai/resources/responses/responses';
const RESPONSES = {
  allowed_callers: ['programmatic'],
  arguments: '{"a":"b"}',
  'summary.text': 'in short',
  call_id: 'call_1',
  detail: 'high',
  file_data: PDF,
  file_url: undefined,
  image_url: 'https://a.test/a.png',
  parameters: OBJECT,
  schema: OBJECT,
};

const LOOK = { type: 'function', name: 'look', parameters: OBJECT };
export const BASE = {
  model: 'm',
  store: false,
  input: 'hi',
  tools: [LOOK, { type: 'custom', name: 'draw' }],
};
const USER = { role: 'user', content: 'hi' };
const CALL = { call_id: 'call_1', name: 'look' };

/** What is around an item of a kind in a conversation that vendors accept. */
const AROUND: Record<string, (item: Json) => Json[]> = {
  function_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  function_call_output: (item) => [{ type: 'function_call', ...CALL, arguments: '{}' }, item],
  custom_tool_call: (item) => [item, { type: 'custom_tool_call_output', ...CALL, output: 'x' }],
  custom_tool_call_output: (item) => [{ type: 'custom_tool_call', ...CALL, input: 'x' }, item],
  apply_patch_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  apply_patch_call_output: (item) => [{ type: 'function_call', ...CALL, arguments: '{}' }, item],
  shell_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  shell_call_output: (item) => [{ type: 'function_call', ...CALL, arguments: '{}' }, item],
  local_shell_call: (item) => [item, { type: 'function_call_output', ...CALL, output: 'x' }],
  local_shell_call_output: (item) => [
    { type: 'function_call', ...CALL, call_id: item.id, arguments: '{}' },
    item,
  ],
  // Thinking alone is not a turn.
  reasoning: (item) => [item, { role: 'assistant', content: 'ok' }],
};

export const withItems = (items: Json[]): Json => ({ ...BASE, input: [USER, ...items, USER] });
export const withItem = (item: Json): Json =>
  withItems(AROUND[String(item.type)]?.(item) ?? [item]);
export const withTool = (tool: Json): Json => ({ ...BASE, tools: [tool] });

export const inputItems = () =>
  samplesOf(MODULE, 'ResponseInputItem', {
    values: { ...RESPONSES, name: 'look', tools: [{ ...LOOK, name: 'listen' }] },
  }) as Json[];
export const tools = () =>
  samplesOf(MODULE, 'Tool', { values: { ...RESPONSES, name: newName } }) as Json[];
export const settings = () =>
  samplesOf(MODULE, 'ResponseCreateParamsBase', {
    values: {
      ...RESPONSES,
      input: 'hi',
      'tool_choice.name': 'look',
      'tool_choice.tools': [{ type: 'function', name: 'look' }],
      ...{ tools: undefined, background: undefined, conversation: undefined, prompt: undefined },
      ...{ previous_response_id: undefined, context_management: undefined },
      'reasoning.context': 'all_turns',
      'reasoning.effort': 'low',
      'reasoning.mode': 'pro',
      temperature: 0.5,
      top_p: 0.5,
    },
  }) as Json[];

/** The top-level fields of the types. */
export const fieldsOf = (from: Pair['from']): string[] =>
  TYPES[from].flatMap(([module, type]) =>
    membersOf(exportedType(module, type)).map(({ name }) => name),
  );

export const SAMPLES: Record<Pair['from'], () => unknown[]> = {
  chat: () => samplesOf(...TYPES.chat[0], { values: CHAT }),
  messages: () => samplesOf(...TYPES.messages[0], { values: MESSAGES }),
  responses: () => [
    ...inputItems().map(withItem),
    ...tools().map(withTool),
    ...settings().map((fields) => ({ ...fields, tools: BASE.tools })),
  ],
};

/** Those that are valid, and that a target of the other protocol can be sent at all. */
export const requestsOf = ({ from, to }: Pair): Json[] =>
  (SAMPLES[from]() as Json[]).filter((body) => {
    try {
      upstreamProtocols[to].encodeRequest(callerProtocols[from].decodeRequest(body), TARGET);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  });
