import { omitUndefined } from '../../support/omit-undefined.ts';
import { extraFieldsFor, makeExtras } from '../extras.ts';
import type { GenerationRequest } from '../generation.ts';
import { asRecord } from '../json.ts';
import { listOf, parseWire } from '../parse-wire.ts';
import type { WireTarget } from '../protocol.ts';
import { withReasoningHistory, withShortCallIds } from './compat.ts';
import { NAME } from './name.ts';
import { decodeResponseFormat, encodeResponseFormat } from './response-format.ts';
import {
  decodeParallel,
  decodeTool,
  decodeToolChoice,
  encodeToolChoice,
  encodeTools,
} from './tools.ts';
import { decodeMessage, encodeTurns } from './turns.ts';
import { ChatRequest } from './wire.ts';

// --- wire -> canonical ---

/** @throws ApiError 400 that names the first fault. */
export const decodeRequest = (body: unknown): GenerationRequest => {
  const {
    model,
    messages,
    stream,
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    top_k: topK,
    n: _n,
    stop,
    tools,
    tool_choice: toolChoice,
    functions: _functions,
    function_call: _call,
    parallel_tool_calls: parallelToolCalls,
    response_format: responseFormat,
    reasoning_effort: effort,
    user,
    ...fields
  } = parseWire(ChatRequest, body);
  return omitUndefined({
    model,
    turns: messages.map(decodeMessage),
    stream: stream ?? false,
    // The newer name also rides along: it tells the encoder which of the two names to write.
    maxTokens: fields.max_completion_tokens ?? maxTokens,
    temperature,
    topP,
    topK,
    stop: listOf(typeof stop === 'string' ? [stop] : stop),
    tools: tools?.map(decodeTool),
    toolChoice: decodeToolChoice(toolChoice),
    parallelToolCalls: decodeParallel(parallelToolCalls, toolChoice),
    responseFormat: decodeResponseFormat(responseFormat),
    reasoning: effort === undefined ? undefined : { effort },
    user,
    extras: makeExtras(NAME, fields),
  });
};

/** True when the caller wants a last chunk with the usage. */
export const wantsUsage = ({ extras }: GenerationRequest): boolean =>
  asRecord(extraFieldsFor(NAME, extras).stream_options)?.include_usage === true;

// --- canonical -> wire ---

/** Thinking budgets (tokens) that stand for each effort, from the least up. */
const EFFORT_UP_TO: [budget: number, effort: string][] = [
  [2_048, 'low'],
  [8_192, 'medium'],
  [24_576, 'high'],
];

const encodeEffort = ({ reasoning }: GenerationRequest): string | undefined => {
  // Upstreams spell "off" each in their own way, and refuse the others' spelling.
  if (reasoning?.mode === 'disabled') return undefined;
  if (reasoning?.effort !== undefined) return reasoning.effort;
  if (reasoning?.mode !== 'enabled' || reasoning.budgetTokens === undefined) return undefined;
  const { budgetTokens } = reasoning;
  return EFFORT_UP_TO.find(([budget]) => budgetTokens <= budget)?.[1] ?? 'xhigh';
};

/** The vendor's limit on end-user ids. Longer ones are agents' telemetry, which is nobody else's. */
const MAX_USER_LENGTH = 64;

const encodeUser = ({ user }: GenerationRequest): string | undefined =>
  user !== undefined && user.length <= MAX_USER_LENGTH ? user : undefined;

/** At least one token, which is this wire's least, and no more than the model can generate. */
const encodeMaxTokens = ({ maxTokens }: GenerationRequest, { maxOutputTokens }: WireTarget) =>
  maxTokens === undefined ? undefined : Math.max(1, Math.min(maxTokens, maxOutputTokens));

/** @throws ApiError 400 when nothing of the conversation has a form on this wire. */
export const encodeRequest = (
  request: GenerationRequest,
  target: WireTarget,
): Record<string, unknown> => {
  const {
    max_completion_tokens: newerName,
    stream_options: options,
    ...fields
  } = extraFieldsFor(NAME, request.extras);
  const isOwn = request.extras.protocol === NAME;
  const tools = encodeTools(request);
  const spelling = newerName === undefined ? 'max_tokens' : 'max_completion_tokens';
  return omitUndefined({
    ...fields,
    model: target.model,
    messages: encodeTurns(withReasoningHistory(withShortCallIds(request, target), target)),
    stream: request.stream,
    // Always asked for: callers of the other family must be told the usage.
    stream_options: request.stream ? { ...(options ?? {}), include_usage: true } : undefined,
    [target.maxTokensField ?? spelling]: encodeMaxTokens(request, target),
    temperature: request.temperature,
    top_p: request.topP,
    top_k: isOwn ? request.topK : undefined,
    stop: request.stop,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(request.toolChoice) : undefined,
    parallel_tool_calls: tools.length > 0 ? request.parallelToolCalls : undefined,
    response_format: encodeResponseFormat(request.responseFormat, isOwn),
    reasoning_effort: encodeEffort(request),
    user: encodeUser(request),
  });
};
