import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Target } from '../../lambdas/catalog/parse-models.ts';
import { DAY_MS } from '../../lambdas/support/clock.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Generated,
  type GenerationUpstream,
  type Refusal,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';

/** A difference in a provider's published words, and a request that meets it. */
type Row = {
  words: Refusal;
  /** Whether the provider rejects this request. */
  isRejected: (request: Generated) => boolean;
  fields: Record<string, unknown>;
  /** What is sent instead; absent members are not sent. */
  sent: Record<string, unknown>;
  /** The header `x-router-dropped` of the response. */
  dropped?: string;
  protocol?: 'messages' | 'responses';
  headers?: Record<string, string>;
  /** Members of the target's profile. */
  profile?: object;
  /** The next request meets it again, because it is of the request, not of the model. */
  isOfRequest?: boolean;
};

const tools = [{ type: 'function', function: { name: 'f' } }];
const ID = 'call_0123456789abcdefghijklmn';
const loop = (assistant: object) => [
  { role: 'user', content: 'a' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: ID, type: 'function', function: { name: 'f', arguments: '{}' } }],
    ...assistant,
  },
  { role: 'tool', tool_call_id: ID, content: 'b' },
];

const textPart = (text: string) => ({ type: 'text', text });
const TEXTS = [
  { role: 'system', content: [textPart('a')] },
  { role: 'user', content: [textPart('b'), textPart('c')] },
  { role: 'user', content: [textPart('d'), textPart('')] },
];
const ONE_TEXT = [
  { role: 'system', content: 'a' },
  { role: 'user', content: 'b\n\nc' },
  { role: 'user', content: 'd\n\n' },
];

const SYSTEMS = [
  { role: 'system', content: 'a' },
  { role: 'user', content: 'b' },
];
const NO_SYSTEM = [{ role: 'user', content: [textPart('a'), textPart('b')] }];
const REPEATED = [
  { role: 'user', content: 'a' },
  { role: 'user', content: 'b' },
  { role: 'assistant', content: 'c' },
  { role: 'user', content: 'd' },
];
const JOINED = [{ role: 'user', content: [textPart('a'), textPart('b')] }, ...REPEATED.slice(2)];
const repeatsRole = ({ body }: Generated): boolean =>
  (body.messages as { role: string }[]).some(
    ({ role }, index, all) => role === all[index - 1]?.role,
  );

const functionOf = (parameters: object) => ({
  type: 'function',
  function: { name: 'f', parameters },
});
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { format: { type: 'object', propertyNames: { pattern: 'a' } } },
  additionalProperties: false,
};
const THOUGHT = { role: 'assistant', content: 'b', reasoning: 'why', reasoning_details: [] };

const has = (name: string) => (request: Generated) => request.body[name] !== undefined;
const hasText = (text: string) => (request: Generated) =>
  JSON.stringify(request.body).includes(text);
const isForced = ({ body }: Generated) => (body.tool_choice ?? 'auto') !== 'auto';
const effortIs = (effort: string) => (request: Generated) =>
  request.body.reasoning_effort === effort;
const EFFORT = { reasoning_effort: 'max' };
const GRAMMAR = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
const FORCED = { tools, tool_choice: 'required' };
const CAP = { max_tokens: undefined, max_completion_tokens: 50 };
const OTHER_CAP = { max_tokens: 50, max_completion_tokens: undefined };

const calledLoop = (content: object[], more = {}) => [
  { role: 'user', content: 'a' },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'toolu_a', name: 'f', input: {}, ...more }],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_a', content }] },
];
const LATER_SYSTEM = {
  isRejected: hasText('"role":"system"'),
  protocol: 'messages',
  fields: {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'system', content: 'b' },
    ],
  },
  sent: {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'user', content: '<system-reminder>\nb\n</system-reminder>' },
    ],
  },
} as const;

const ROWS: Record<string, Row> = {
  "OpenAI's, of a temperature": {
    words:
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    isRejected: has('temperature'),
    fields: { temperature: 0.2, top_p: 0.5 },
    sent: { temperature: undefined, top_p: 0.5 },
    dropped: 'temperature',
  },
  "OpenAI's, of a sampling field": {
    words: "Unsupported parameter: 'top_p' is not supported with this model.",
    isRejected: has('top_p'),
    fields: { temperature: 0.2, top_p: 0.5 },
    sent: { temperature: 0.2, top_p: undefined },
    dropped: 'top_p',
  },
  "Anthropic's, of a temperature": {
    words: '`temperature` is deprecated for this model.',
    isRejected: (request) => has('temperature')(request) || has('top_k')(request),
    protocol: 'messages',
    fields: { temperature: 0.2, top_k: 5 },
    sent: { temperature: undefined, top_k: undefined },
    dropped: 'temperature, top_k',
  },
  "Moonshot's, of a temperature": {
    words: 'invalid temperature: only 1 is allowed for this model',
    isRejected: has('temperature'),
    fields: { temperature: 0.2 },
    sent: { temperature: undefined },
    dropped: 'temperature',
  },
  "xAI's, of a penalty": {
    words: 'Model grok-4.5 does not support parameter presencePenalty.',
    isRejected: has('presence_penalty'),
    fields: { presence_penalty: 0.5, temperature: 0.2 },
    sent: { presence_penalty: undefined, temperature: 0.2 },
    dropped: 'presence_penalty',
  },
  "xAI's, of an effort": {
    words: 'Model grok-4.20 does not support parameter reasoningEffort.',
    isRejected: has('reasoning_effort'),
    fields: EFFORT,
    sent: { reasoning_effort: undefined },
    dropped: 'reasoning_effort',
  },
  "OpenAI's, of an effort": {
    words: 'Unrecognized request argument supplied: reasoning_effort',
    isRejected: has('reasoning_effort'),
    fields: EFFORT,
    sent: { reasoning_effort: undefined },
    dropped: 'reasoning_effort',
  },
  "OpenAI's, of a level": {
    words:
      "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
    isRejected: effortIs('max'),
    fields: EFFORT,
    sent: { reasoning_effort: 'xhigh' },
    dropped: 'reasoning_effort',
  },
  "Groq's, of a level": {
    words: '`reasoning_effort` must be one of `low`, `medium`, or `high`',
    isRejected: effortIs('max'),
    fields: EFFORT,
    sent: { reasoning_effort: 'high' },
    dropped: 'reasoning_effort',
  },
  "an aggregator's, of a level that it does not name as one": {
    words: 'level "max" not supported, valid levels: low, medium, high, xhigh',
    isRejected: effortIs('max'),
    fields: EFFORT,
    sent: { reasoning_effort: 'xhigh' },
    dropped: 'reasoning_effort',
  },
  "an aggregator's, of a level by the parameter": {
    words: {
      error: {
        message: 'Invalid option: expected one of "low"|"medium"|"high"|"xhigh"|"max"',
        type: 'invalid_request_error',
        param: 'reasoning_effort',
      },
    },
    isRejected: effortIs('none'),
    fields: { reasoning_effort: 'none' },
    sent: { reasoning_effort: 'low' },
    dropped: 'reasoning_effort',
  },
  "a relay's, of a level without a word": {
    words: { error: { param: 'reasoning_effort', error_code: 'invalid_reasoning_effort' } },
    isRejected: effortIs('max'),
    fields: EFFORT,
    sent: { reasoning_effort: 'xhigh' },
    dropped: 'reasoning_effort',
  },
  "a gateway's before Moonshot, of a level, as JSON in its text": {
    words: {
      detail: `Invalid request: ${JSON.stringify({
        detail: {
          error: {
            message:
              "1 validation error: Validation error for `reasoning_effort`: expected one of `'low' | 'medium' | 'high'`, received `'xhigh'`",
          },
        },
      })}`,
    },
    isRejected: effortIs('xhigh'),
    fields: { reasoning_effort: 'xhigh' },
    sent: { reasoning_effort: 'high' },
    dropped: 'reasoning_effort',
  },
  "DeepSeek's, of a list of texts": {
    words:
      'Failed to deserialize the JSON body into the target type: messages[1]: invalid type: sequence, expected a string at line 1 column 9837',
    isRejected: hasText('"content":['),
    fields: { messages: TEXTS },
    sent: { messages: ONE_TEXT },
  },
  "Groq's, of a list of texts": {
    words:
      "'messages.0' : for 'role:system' the following must be satisfied[('messages.0.content' : value must be a string)]",
    isRejected: hasText('"content":['),
    fields: { messages: TEXTS },
    sent: { messages: ONE_TEXT },
  },
  "ModelScope's, of a list of texts": {
    words:
      "<400> InternalError.Algo.InvalidParameter: The content field's type should be `str` in messages.",
    isRejected: hasText('"content":['),
    fields: { messages: TEXTS },
    sent: { messages: ONE_TEXT },
  },
  "Vertex's, of an effort": {
    words: 'output_config: Extra inputs are not permitted',
    isRejected: hasText('output_config'),
    protocol: 'messages',
    fields: { max_tokens: 9_000, output_config: { effort: 'low' } },
    sent: { output_config: undefined },
  },
  "Bedrock's, of an agent's billing line": {
    words:
      'x-anthropic-billing-header is a reserved keyword and may not be used in the system prompt.',
    isRejected: hasText('x-anthropic-billing-header'),
    protocol: 'messages',
    // As of a model with Claude's name.
    profile: { billingLine: true },
    fields: {
      max_tokens: 9,
      system: [
        textPart('x-anthropic-billing-header: cc_version=2.1.38; cch=00000;'),
        textPart('Be brief.'),
      ],
    },
    sent: { system: [textPart('Be brief.')] },
  },
  "a gateway's before Anthropic, of a hint": {
    words: {
      error: {
        message:
          '{"message":"tools.0.custom.defer_loading: Extra inputs are not permitted"}. Received Model Group=claude-sonnet-4-6\nAvailable Model Group Fallbacks=None',
        type: 'None',
        param: 'None',
        code: '400',
      },
    },
    isRejected: hasText('defer_loading'),
    protocol: 'messages',
    fields: { tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true }] },
    sent: { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
    dropped: 'tools[].defer_loading',
  },
  "Nebius's, of a list of texts": {
    words: {
      detail: [
        {
          type: 'string_type',
          loc: ['body', 'messages', 1, 'content', 'str'],
          msg: 'Input should be a valid string',
        },
      ],
    },
    isRejected: hasText('"content":['),
    fields: { messages: TEXTS },
    sent: { messages: ONE_TEXT },
  },
  "OpenAI's, of sealed reasoning that the router asks for": {
    words: 'Encrypted content is not supported with this model.',
    isRejected: hasText('encrypted_content'),
    protocol: 'responses',
    fields: {},
    sent: { include: undefined },
  },
  "Anthropic's, of a cap that does not fit behind the prompt": {
    words:
      'input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again',
    isRejected: ({ body }) => Number(body.max_tokens) > 241,
    protocol: 'messages',
    fields: { max_tokens: 8_192 },
    sent: { max_tokens: 241 },
    isOfRequest: true,
  },
  "DeepSeek's, of a cap that does not fit behind the prompt": {
    words:
      "This model's maximum context length is 131072 tokens. However, you requested 139162 tokens (130970 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    isRejected: ({ body }) => Number(body.max_tokens) > 102,
    fields: { max_tokens: 8_192 },
    sent: { max_tokens: 102 },
    isOfRequest: true,
  },
  "vLLM's, of a cap that does not fit behind the prompt": {
    words:
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 300 input tokens (8192 > 8192 - 300).",
    isRejected: ({ body }) => Number(body.max_tokens) > 7_892,
    fields: { max_tokens: 8_192 },
    sent: { max_tokens: 7_892 },
    isOfRequest: true,
  },
  "SGLang's, of a cap that does not fit behind the prompt": {
    words:
      "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 135000 tokens: 131000 tokens from the input messages and 4000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
    isRejected: ({ body }) => Number(body.max_tokens) > 72,
    fields: { max_tokens: 4_000 },
    sent: { max_tokens: 72 },
    isOfRequest: true,
  },
  "vLLM's newer, of a cap that does not fit behind the prompt": {
    words:
      "You passed 126977 input tokens and requested 4096 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 126976 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=126977)",
    isRejected: ({ body }) => Number(body.max_tokens) > 4_095,
    fields: { max_tokens: 4_096 },
    sent: { max_tokens: 4_095 },
    isOfRequest: true,
  },
  "DeepSeek's, of a cap above the model's": {
    words: 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
    isRejected: ({ body }) => Number(body.max_tokens) > 8_192,
    fields: { max_tokens: 9_000 },
    sent: { max_tokens: 8_192 },
    isOfRequest: true,
  },
  "Bedrock's, of a cap above the model's": {
    words:
      'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.',
    isRejected: ({ body }) => Number(body.max_tokens) > 4_096,
    protocol: 'messages',
    fields: { max_tokens: 9_000 },
    sent: { max_tokens: 4_096 },
    isOfRequest: true,
  },
  "OpenAI's, of a cap above the model's": {
    words:
      'max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.',
    isRejected: ({ body }) => Number(body.max_tokens) > 4_096,
    fields: { max_tokens: 6_000 },
    sent: { max_tokens: 4_096 },
    isOfRequest: true,
  },
  "Anthropic's, of a cap above the model's": {
    words:
      'max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307',
    isRejected: ({ body }) => Number(body.max_tokens) > 4_096,
    protocol: 'messages',
    fields: { max_tokens: 9_000 },
    sent: { max_tokens: 4_096 },
    isOfRequest: true,
  },
  "Groq's, of a cap above the model's": {
    words:
      '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
    isRejected: ({ body }) => Number(body.max_tokens) > 8_192,
    fields: { max_tokens: 9_000 },
    sent: { max_tokens: 8_192 },
    isOfRequest: true,
  },
  "Qwen's, of a cap above the model's": {
    words: '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]',
    isRejected: ({ body }) => Number(body.max_tokens) > 8_192,
    fields: { max_tokens: 9_000 },
    sent: { max_tokens: 8_192 },
    isOfRequest: true,
  },
  "Anthropic's, of thinking turned off": {
    words:
      '"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" for the lowest thinking setting, or "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    isRejected: hasText('"disabled"'),
    protocol: 'messages',
    fields: { thinking: { type: 'disabled' } },
    sent: { thinking: { type: 'between_tools' } },
    dropped: 'thinking',
  },
  "DeepSeek's, of a form of thinking": {
    words: 'thinking type should be enabled or disabled',
    isRejected: hasText('"adaptive"'),
    protocol: 'messages',
    fields: { max_tokens: 9_000, thinking: { type: 'adaptive' } },
    sent: { thinking: { type: 'enabled', budget_tokens: 4_096 } },
  },
  "Bedrock's, of a form of thinking": {
    words:
      "The model returned the following errors: thinking.type: Input should be 'adaptive' or 'disabled'",
    isRejected: hasText('"enabled"'),
    protocol: 'messages',
    fields: { max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    sent: { thinking: { type: 'adaptive' } },
  },
  "Anthropic's, of a level without thinking": {
    words:
      "output_config.effort 'max' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
    isRejected: hasText('"max"'),
    protocol: 'messages',
    fields: { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
    sent: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    dropped: 'output_config.effort',
  },
  "Google's, of thinking turned off": {
    words: 'Budget 0 is invalid. This model only works in thinking mode.',
    isRejected: effortIs('none'),
    fields: { reasoning_effort: 'none' },
    sent: { reasoning_effort: 'low' },
    dropped: 'reasoning_effort',
  },
  "vLLM's, of a level": {
    words:
      "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'max'}]",
    isRejected: effortIs('max'),
    fields: EFFORT,
    sent: { reasoning_effort: 'high' },
    dropped: 'reasoning_effort',
  },
  "Bedrock's, of a level": {
    words:
      'unknown variant `max`, expected one of `low`, `medium`, `high`, `xhigh` at line 1 column 80',
    isRejected: effortIs('max'),
    fields: EFFORT,
    sent: { reasoning_effort: 'xhigh' },
    dropped: 'reasoning_effort',
  },
  "a gateway's before Anthropic, of a form of thinking": {
    words:
      'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"\\"thinking.type.enabled\\" is not supported for this model. Use \\"thinking.type.adaptive\\" and \\"output_config.effort\\" to control thinking behavior."}}',
    isRejected: hasText('"enabled"'),
    protocol: 'messages',
    fields: { max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    sent: { thinking: { type: 'adaptive' } },
  },
  "Anthropic's, of a level": {
    words: "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'",
    isRejected: hasText('xhigh'),
    protocol: 'messages',
    fields: { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    sent: { output_config: { effort: 'high' } },
    dropped: 'output_config.effort',
  },
  "Anthropic's schema, of a form of thinking": {
    words:
      "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    isRejected: hasText('"adaptive"'),
    protocol: 'messages',
    fields: { max_tokens: 9_000, thinking: { type: 'adaptive' } },
    sent: { thinking: { type: 'enabled', budget_tokens: 4_096 } },
  },
  "OpenAI's, of functions that a model does not think next to": {
    words:
      "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    // The model thinks by default: https://github.com/BerriAI/litellm/pull/34569
    isRejected: ({ body }) => body.tools !== undefined && body.reasoning_effort !== 'none',
    fields: { tools },
    sent: { reasoning_effort: 'none' },
  },
  "Anthropic's, of a forced tool": {
    words: 'tool_choice: type "tool" and "any" are not supported for this model.',
    isRejected: hasText('"any"'),
    protocol: 'messages',
    fields: {
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any' },
    },
    sent: { tool_choice: undefined },
    dropped: 'tool_choice',
  },
  "LM Studio's, of a choice of one tool": {
    words: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    isRejected: ({ body }) => typeof body.tool_choice === 'object',
    fields: { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
    sent: { tool_choice: undefined },
    dropped: 'tool_choice',
  },
  "DeepSeek's, of a forced tool": {
    words: 'Thinking mode does not support this tool_choice',
    isRejected: isForced,
    fields: FORCED,
    sent: { tool_choice: undefined },
    isOfRequest: true,
    dropped: 'tool_choice',
  },
  "DeepSeek's, of a forced tool of a model that reasons": {
    words: 'deepseek-reasoner does not support this tool_choice',
    isRejected: isForced,
    fields: FORCED,
    sent: { tool_choice: undefined },
    dropped: 'tool_choice',
  },
  "Qwen's, of a forced tool": {
    words:
      '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode',
    isRejected: isForced,
    fields: FORCED,
    sent: { tool_choice: undefined },
    isOfRequest: true,
    dropped: 'tool_choice',
  },
  "Moonshot's, of a forced tool": {
    words: "tool_choice 'required' is incompatible with thinking enabled",
    isRejected: isForced,
    fields: FORCED,
    sent: { tool_choice: undefined },
    isOfRequest: true,
    dropped: 'tool_choice',
  },
  "Anthropic's, of a system turn": {
    words:
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    isRejected: hasText('"role":"system"'),
    protocol: 'messages',
    fields: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
      ],
    },
    sent: { system: undefined },
  },
  "a template's, of a later system message": {
    words: 'System message must be at the beginning.',
    isRejected: ({ body }) =>
      (body.messages as { role: string }[]).slice(1).some(({ role }) => role === 'system'),
    fields: {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'b' },
        { role: 'system', content: 'c' },
      ],
    },
    sent: {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'b' },
        { role: 'user', content: '<system-reminder>\nc\n</system-reminder>' },
      ],
    },
  },
  "Gemma's template, of a system prompt": {
    words: { error: { code: 400, message: 'System role not supported' } },
    isRejected: hasText('"system"'),
    fields: { messages: SYSTEMS },
    sent: { messages: NO_SYSTEM },
  },
  "Google's, of a system prompt": {
    words: 'Developer instruction is not enabled for models/gemma-3-27b-it',
    isRejected: hasText('"system"'),
    fields: { messages: SYSTEMS },
    sent: { messages: NO_SYSTEM },
  },
  "Ministral's template, of a system prompt": {
    words: 'Only user, assistant and tool roles are supported, got system',
    isRejected: hasText('"system"'),
    fields: { messages: SYSTEMS },
    sent: { messages: NO_SYSTEM },
  },
  "OpenAI's, of a system prompt": {
    words: {
      error: {
        message: "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        type: 'invalid_request_error',
        param: 'messages[0].role',
        code: 'unsupported_value',
      },
    },
    isRejected: hasText('"system"'),
    fields: { messages: SYSTEMS },
    sent: { messages: NO_SYSTEM },
  },
  "llama.cpp's 500, of two turns of one role": {
    words: {
      error: {
        code: 500,
        message:
          "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) %}↵            {{- raise_exception('After the optional system message, con...\n                                           ^\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
        type: 'server_error',
      },
    },
    isRejected: repeatsRole,
    fields: { messages: REPEATED },
    sent: { messages: JOINED },
  },
  "vLLM's, of two turns of one role": {
    words: {
      error: {
        message: 'Conversation roles must alternate user/assistant/user/assistant/...',
        type: 'BadRequestError',
        code: 400,
      },
    },
    isRejected: repeatsRole,
    fields: { messages: REPEATED },
    sent: { messages: JOINED },
  },
  "Mistral's, of a user's turn after results": {
    words: {
      object: 'error',
      message: "Unexpected role 'user' after role 'tool'",
      type: 'invalid_request_message_order',
      param: null,
      code: '3230',
    },
    isRejected: ({ body }) =>
      (body.messages as { role: string }[]).some(
        ({ role }, index, all) => role === 'user' && all[index - 1]?.role === 'tool',
      ),
    fields: { tools, messages: [...loop({ content: null }), { role: 'user', content: 'c' }] },
    sent: {
      messages: [
        ...loop({ content: null }),
        { role: 'assistant', content: 'OK.' },
        { role: 'user', content: 'c' },
      ],
    },
  },
  "MiniMax's, of a later system message": {
    words: {
      error: {
        message: 'invalid params, chat content has invalid message role: system (2013)',
        type: 'bad_request_error',
      },
    },
    isRejected: ({ body }) =>
      (body.messages as { role: string }[]).slice(1).some(({ role }) => role === 'system'),
    fields: { messages: [{ role: 'user', content: 'b' }, ...SYSTEMS] },
    sent: {},
  },
  "vLLM's, of a strict tool": {
    words: {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'tools', 0, 'function', 'strict'), 'msg': 'Extra inputs are not permitted', 'input': True}]",
      type: 'BadRequestError',
      code: 400,
    },
    isRejected: hasText('"strict"'),
    fields: { tools: [{ type: 'function', function: { name: 'f', strict: true } }] },
    sent: { tools },
    dropped: 'tools[].function.strict',
  },
  "Ark's, of a summary": {
    words: { error: { code: 'InvalidParameter', message: 'json: unknown field "summary"' } },
    isRejected: hasText('"summary"'),
    protocol: 'responses',
    fields: { reasoning: { effort: 'low', summary: 'auto' } },
    sent: { reasoning: { effort: 'low' } },
    dropped: 'reasoning.summary',
  },
  "Anthropic's, of both a temperature and top_p": {
    words:
      '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    isRejected: (request) => has('temperature')(request) && has('top_p')(request),
    protocol: 'messages',
    fields: { temperature: 0.2, top_p: 0.9 },
    sent: { temperature: 0.2, top_p: undefined },
    dropped: 'top_p',
  },
  "a gateway's before Bedrock, of both a temperature and top_p": {
    words: {
      error: {
        message:
          'litellm.BadRequestError: BedrockException - {"message":"The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. Please use only one."}. Received Model Group=bedrock-claude-sonnet-4-5\nAvailable Model Group Fallbacks=None',
        type: null,
        param: null,
        code: '400',
      },
    },
    isRejected: (request) => has('temperature')(request) && has('top_p')(request),
    fields: { temperature: 0.2, top_p: 0.9 },
    sent: { temperature: 0.2, top_p: undefined },
    dropped: 'top_p',
  },
  "Google's, of keywords of a schema": {
    words: {
      error: {
        code: 400,
        message: ['$schema', 'additionalProperties', 'propertyNames']
          .map(
            (name) =>
              `Invalid JSON payload received. Unknown name "${name}" at 'request.tools[0].function_declarations[0].parameters': Cannot find field.`,
          )
          .join('\n'),
        status: 'INVALID_ARGUMENT',
      },
    },
    isRejected: hasText('propertyNames'),
    fields: { tools: [functionOf(SCHEMA)] },
    sent: { tools: [functionOf({ type: 'object', properties: { format: { type: 'object' } } })] },
    dropped:
      'tools[].function.parameters.additionalProperties, tools[].function.parameters.propertyNames',
  },
  "Cerebras's, of a strict tool": {
    words: 'Tools with strict=True are not supported by this model',
    isRejected: hasText('"strict":true'),
    fields: { tools: [{ type: 'function', function: { name: 'f', strict: true } }] },
    sent: { tools },
    dropped: 'tools[].function.strict',
  },
  "OpenAI's, of a keyword of a strict schema": {
    words: {
      error: {
        message:
          "Invalid schema for function 'f': In context=('properties', 'format'), 'propertyNames' is not permitted.",
        type: 'invalid_request_error',
        param: 'tools[0].parameters',
        code: 'invalid_function_parameters',
      },
    },
    isRejected: hasText('propertyNames'),
    fields: { tools: [functionOf(SCHEMA)] },
    sent: { tools: [functionOf({ ...SCHEMA, properties: { format: { type: 'object' } } })] },
    dropped: 'tools[].function.parameters.propertyNames',
  },
  "Cerebras's, of keywords of a schema": {
    words: {
      message: "Unsupported JSON schema fields: {'propertyNames'}",
      code: 'wrong_api_format',
    },
    isRejected: hasText('propertyNames'),
    fields: { tools: [functionOf(SCHEMA)] },
    sent: { tools: [functionOf({ ...SCHEMA, properties: { format: { type: 'object' } } })] },
    dropped: 'tools[].function.parameters.propertyNames',
  },
  "a gateway's before Moonshot, of earlier reasoning by another name": {
    words:
      "Error from provider: Extra inputs are not permitted, field: 'messages[1].reasoning', value: 'why'",
    isRejected: hasText('"reasoning"'),
    fields: { messages: [{ role: 'user', content: 'a' }, THOUGHT, { role: 'user', content: 'c' }] },
    sent: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    },
  },
  "Mistral's, of a tool that is named": {
    words: {
      detail: [
        {
          type: 'enum',
          loc: ['body', 'tool_choice'],
          msg: "Input should be 'auto', 'none' or 'any'",
        },
      ],
    },
    isRejected: isForced,
    fields: { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
    sent: { tool_choice: undefined },
    dropped: 'tool_choice',
  },
  "OpenRouter's, of thinking turned off": {
    words: 'Reasoning is mandatory for this endpoint and cannot be disabled.',
    isRejected: effortIs('none'),
    fields: { reasoning_effort: 'none' },
    sent: { reasoning_effort: 'low' },
    dropped: 'reasoning_effort',
  },
  "xAI's, of a stop sequence": {
    words: 'Model grok-4.6 does not support parameter stop.',
    isRejected: has('stop'),
    fields: { stop: ['</block>'], temperature: 0.2 },
    sent: { stop: undefined, temperature: 0.2 },
  },
  "Mistral's, of the ids of calls": {
    words: `Tool call id was ${ID} but must be a-z, A-Z, 0-9, with a length of 9.`,
    isRejected: hasText(ID),
    fields: { tools, messages: loop({}) },
    sent: { tools },
  },
  "DeepSeek's, of earlier reasoning": {
    words: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    isRejected: (request) => !hasText('reasoning_content')(request),
    fields: { tools, messages: loop({}) },
    sent: { tools },
  },
  "Moonshot's, of earlier reasoning": {
    words:
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
    isRejected: (request) => !hasText('reasoning_content')(request),
    fields: { tools, messages: loop({}) },
    sent: { tools },
  },
  "Groq's, of earlier reasoning": {
    words:
      "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    isRejected: hasText('reasoning_content'),
    fields: { tools, messages: loop({ reasoning_content: 'why' }) },
    sent: { tools },
    dropped: 'messages[assistant].reasoning_content',
  },
  "OpenAI's, of metadata": {
    words: "The 'metadata' parameter is only allowed when 'store' is enabled.",
    isRejected: has('metadata'),
    fields: { metadata: { a: 'b' } },
    sent: { metadata: undefined },
    dropped: 'metadata',
  },
  "A converter's, of a custom tool": {
    words: "'function' is a required property, expected an object - 'tools.7'",
    isRejected: hasText('"custom"'),
    fields: { tools: [{ type: 'custom', custom: { name: 'f', format: GRAMMAR } }] },
    sent: { tools: [{ type: 'function', function: expect.objectContaining({ name: 'f' }) }] },
    dropped: 'tools[custom].custom.format',
  },
  "Azure's, of the key of a session that the router sends": {
    words: 'Unrecognized request argument supplied: prompt_cache_key',
    isRejected: has('prompt_cache_key'),
    profile: { cacheFields: ['prompt_cache_key'] },
    headers: { 'x-session-id': 'session-1' },
    fields: {},
    sent: { prompt_cache_key: undefined },
  },
  "OpenAI's, of a token cap": {
    words:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    isRejected: has('max_tokens'),
    fields: OTHER_CAP,
    sent: CAP,
  },
  "Azure's, of a token cap": {
    words: 'Unrecognized request argument supplied: max_completion_tokens',
    isRejected: has('max_completion_tokens'),
    fields: CAP,
    sent: OTHER_CAP,
  },
  "Mistral's, of a token cap": {
    words: {
      detail: [
        {
          type: 'extra_forbidden',
          loc: ['body', 'max_completion_tokens'],
          msg: 'Extra inputs are not permitted',
          input: 50,
        },
      ],
    },
    isRejected: has('max_completion_tokens'),
    fields: CAP,
    sent: OTHER_CAP,
  },
  "Bedrock's, of a beta that it does not name": {
    words: 'invalid beta flag',
    isRejected: ({ headers }) => String(headers['anthropic-beta']).includes('claude-code'),
    protocol: 'messages',
    headers: { 'anthropic-beta': 'claude-code-20250219, interleaved-thinking-2025-05-14' },
    fields: {},
    sent: {},
    dropped: 'anthropic-beta',
  },
  "Vertex', of edits of the conversation": {
    words: 'context_management: Extra inputs are not permitted',
    isRejected: has('context_management'),
    protocol: 'messages',
    headers: { 'anthropic-beta': 'context-management-2025-06-27' },
    fields: { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
    sent: { context_management: undefined },
    dropped: 'context_management',
  },
  "OpenRouter's, of a beta": {
    words: {
      error: {
        message:
          "No endpoints available that support Anthropic's context management features (context-management-2025-06-27). Context management requires a supported provider (Anthropic).",
        code: 400,
      },
    },
    isRejected: has('context_management'),
    protocol: 'messages',
    headers: { 'anthropic-beta': 'context-management-2025-06-27' },
    fields: { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    sent: { context_management: undefined },
    dropped: 'context_management.edits[clear_tool_uses_20250919], anthropic-beta',
  },
  "Bedrock's, of the schema of a response": {
    words: 'output_config.format: Extra inputs are not permitted',
    isRejected: hasText('json_schema'),
    protocol: 'messages',
    fields: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    sent: {
      output_config: undefined,
      messages: [
        {
          role: 'user',
          content: [
            textPart('hi'),
            textPart(
              '<system-reminder>\nReply with JSON that fits this JSON Schema, and with nothing else:\n{"type":"object"}\n</system-reminder>',
            ),
          ],
        },
      ],
    },
    dropped: 'output_config.format',
  },
  "Vertex', of who called a tool in the history": {
    words: 'messages.1.content.0.tool_use.caller: Extra inputs are not permitted',
    isRejected: hasText('"caller"'),
    protocol: 'messages',
    fields: { messages: calledLoop([textPart('b')], { caller: { type: 'direct' } }) },
    sent: { messages: calledLoop([textPart('b')]) },
    dropped: 'messages[].content[].caller',
  },
  "Moonshot's, of a tool that a result loads": {
    words:
      'failed to convert tool result content: unsupported content type in ContentBlockParamUnion: tool_reference',
    isRejected: hasText('"tool_reference"'),
    protocol: 'messages',
    fields: { messages: calledLoop([{ type: 'tool_reference', tool_name: 'g' }]) },
    sent: { messages: calledLoop([textPart("The tool 'g' is available.")]) },
  },
  "Moonshot's, of a model that always thinks": {
    words: 'invalid thinking: only type=enabled is allowed for this model',
    isRejected: hasText('"disabled"'),
    protocol: 'messages',
    fields: { thinking: { type: 'disabled' } },
    sent: { thinking: undefined },
    dropped: 'thinking',
  },
  "DeepSeek's, of an agent's id of its user": {
    words:
      "Invalid 'user_id': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    isRejected: hasText('device'),
    protocol: 'messages',
    fields: { metadata: { user_id: '{"device_id":"a"}' } },
    sent: { metadata: undefined },
    dropped: 'metadata',
  },
  "DeepSeek's, of a system turn": {
    words:
      'Failed to deserialize the JSON body into the target type: messages[1].role: unknown variant `system`, expected `user` or `assistant` at line 1 column 1010',
    ...LATER_SYSTEM,
  },
  "SGLang's, of a system turn": {
    words: {
      detail: [
        {
          type: 'literal_error',
          loc: ['body', 'messages', 1, 'role'],
          msg: "Input should be 'user' or 'assistant'",
        },
      ],
    },
    ...LATER_SYSTEM,
  },
  "Anthropic's, of a beta": {
    words:
      'Unexpected value(s) `context-1m-2025-08-07`, `effort-2025-11-24` for the `anthropic-beta` header. Please consult our documentation or try again without the header.',
    isRejected: ({ headers }) => String(headers['anthropic-beta']).includes('context-1m'),
    protocol: 'messages',
    headers: {
      'anthropic-beta': 'context-1m-2025-08-07,mcp-client-2025-11-20,effort-2025-11-24',
    },
    fields: {},
    sent: {},
    dropped: 'anthropic-beta',
  },
};
const NAMES = Object.keys(ROWS);

const clock = createCountingClock(Date.UTC(2026, 10, 22, 12));
let upstreams: GenerationUpstream[];
let fleet: Fleet;

beforeAll(async () => {
  upstreams = await Promise.all(
    Object.values(ROWS).map(({ words, isRejected }) =>
      startGenerationUpstream((request) => (isRejected(request) ? words : undefined)),
    ),
  );
  const models = Object.values(ROWS).map(({ protocol = 'chat', profile }, index) => {
    const forward = { betas: 'forward', ...profile };
    const options = { protocol, upstream: `provider-${index}`, profile: forward };
    const target = Target.parse({ ...targetAt(upstreams[index]?.url ?? ''), ...options });
    return modelOn([target], { id: `vendor/${index}` });
  });
  fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await Promise.all(upstreams.map(({ close }) => close()));
});

const ask = async (name: string, fields: object, own: Record<string, string> = {}) => {
  const { protocol = 'chat', headers } = ROWS[name] as Row;
  const asked =
    protocol === 'responses'
      ? { input: 'hi', store: false }
      : { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] };
  const body = { model: `vendor/${NAMES.indexOf(name)}`, ...asked, ...fields };
  const sent = await send(fleet.urls[0] ?? '', PATHS[protocol], {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, ...headers, ...own },
    body: JSON.stringify(body),
  });
  const dropped = sent.headers['x-router-dropped'];
  return { ...sent, dropped, calls: upstreams[NAMES.indexOf(name)]?.take() ?? [] };
};

describe('a rejection in the words of a provider that name a difference', () => {
  test.each(NAMES)(
    '%s is healed by one more call, and by none in the next request; what is dropped is named',
    async (name) => {
      const { fields, sent, dropped, isOfRequest = false } = ROWS[name] as Row;
      const first = await ask(name, fields);
      expect([first.status, first.calls.length, first.dropped]).toEqual([200, 2, dropped]);
      const wire = first.calls[1]?.body ?? {};
      const changed = Object.fromEntries(Object.keys(sent).map((key) => [key, wire[key]]));
      expect(changed).toMatchObject(sent);
      const next = await ask(name, fields);
      expect([next.status, next.calls.length, next.dropped]).toEqual([
        200,
        isOfRequest ? 2 : 1,
        dropped,
      ]);
    },
  );

  test.each(NAMES.filter((name) => ROWS[name]?.dropped !== undefined))(
    '%s is the 400 of a strict request that would lose its field, before and after it was learned, for no unit',
    async (name) => {
      // Nothing learned by the test before holds.
      clock.advance(2 * DAY_MS);
      const { fields, dropped = '', isOfRequest = false } = ROWS[name] as Row;
      const before = await fleet.charged();
      const strict = () => ask(name, fields, { 'x-router-strict': '1' });
      for (const { status, text, calls } of [await strict(), await strict()]) {
        expect([status, calls.length]).toEqual([400, 1]);
        expect(text).toContain(`accepts ${dropped}.`);
      }
      expect(await fleet.charged()).toBe(before);
      expect((await ask(name, fields)).status).toBe(200);
      expect([(await strict()).calls.length]).toEqual([isOfRequest ? 1 : 0]);
    },
  );

  test('betas that the provider rejects are left out, the others are forwarded', async () => {
    const { calls } = await ask("Anthropic's, of a beta", {});
    expect(calls.at(-1)?.headers['anthropic-beta']).toBe('mcp-client-2025-11-20');
  });

  test("an effort that no vendor has is sent as it is, and is the caller's 400", async () => {
    const { status, calls } = await ask("Anthropic's, of a level", {
      output_config: { effort: 'xhighest' },
    });
    expect([status, calls.length]).toEqual([400, 1]);
  });
});
