import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { extraFieldsFor, makeExtras } from '../extras.ts';
import type { GenerationRequest, Reasoning } from '../generation.ts';
import { asRecord } from '../json.ts';
import { listOf, parseWire } from '../parse-wire.ts';
import type { WireTarget } from '../protocol.ts';
import { asksForBeta, withoutBetaDisplay } from './betas.ts';
import { NAME } from './name.ts';
import { decodeOutputFormat, encodeOutputFormat, withInstruction } from './output-format.ts';
import { encodeSampling, encodeThinking, modeOf, withoutThinkingEdits } from './thinking.ts';
import {
  decodeParallel,
  decodeTool,
  decodeToolChoice,
  encodeToolChoice,
  encodeTools,
} from './tools.ts';
import { assertContent, decodeMessage, decodeSystem, encodeTurns } from './turns.ts';
import { CountRequest, MessagesRequest } from './wire.ts';

// --- wire -> canonical ---

const decodeReasoning = ({
  thinking,
  output_config: config,
}: CountRequest): Reasoning | undefined => {
  const reasoning = omitUndefined({
    effort: config?.effort,
    budgetTokens: thinking?.budget_tokens,
    mode: modeOf(thinking),
  });
  return isEmpty(reasoning) ? undefined : reasoning;
};

/** What is left of a field whose known members are canonical; it rides along under its name. */
const leftover = (name: string, record: object | undefined, known: string[]) => {
  const rest = Object.entries(record ?? {}).filter(
    ([key, value]) => !known.includes(key) && value != null,
  );
  return rest.length > 0 ? { [name]: Object.fromEntries(rest) } : {};
};

/** The vendor's code, on which its SDK's tool runner goes on without a thread, the whole history sent. */
const UNTHREADED = { error_code: 'thread_unsupported_request' };

/** A conversation kept by the vendor: this router keeps none, and half an answer would be worse. */
const assertNoThread = (thread: unknown) => {
  if (thread === undefined) return;
  throw invalidRequest('thread: stored threads are not supported; send the whole conversation.', {
    param: 'thread',
    details: UNTHREADED,
  });
};

const decode = (wire: CountRequest): GenerationRequest => {
  const {
    model,
    messages,
    system,
    max_tokens: maxTokens,
    stream,
    temperature,
    top_p: topP,
    top_k: topK,
    stop_sequences: stop,
    tools,
    tool_choice: toolChoice,
    thinking,
    output_config: outputConfig,
    output_format: outputFormat,
    metadata,
    thread,
    // An agent's own settings, with paths of its user's machine.
    safeguards: _safeguards,
    ...fields
  } = wire;
  assertNoThread(thread);
  return omitUndefined({
    model,
    turns: [...decodeSystem(system), ...messages.map(decodeMessage)],
    stream: stream ?? false,
    maxTokens,
    temperature,
    topP,
    topK,
    stop: listOf(stop),
    tools: tools?.map(decodeTool),
    toolChoice: toolChoice && decodeToolChoice(toolChoice),
    parallelToolCalls: decodeParallel(toolChoice),
    // `output_format` is the field's name in an older beta.
    responseFormat: decodeOutputFormat(outputConfig?.format ?? outputFormat),
    reasoning: decodeReasoning(wire),
    user: metadata?.user_id,
    extras: makeExtras(NAME, {
      ...fields,
      // A mode that is new to this router rides along as a whole.
      ...leftover('thinking', thinking, modeOf(thinking) ? ['type', 'budget_tokens'] : []),
      ...leftover('output_config', outputConfig, ['effort', 'format']),
      ...leftover('metadata', metadata, ['user_id']),
    }),
  });
};

/** @throws ApiError 400 that names the first fault. */
export const decodeRequest = (body: unknown): GenerationRequest => {
  const request = decode(parseWire(MessagesRequest, body));
  assertContent(request.turns);
  return request;
};

/** A body of the token-count endpoint: the same fields, no `max_tokens` needed. @throws ApiError 400 */
export const decodeCountRequest = (body: unknown): GenerationRequest =>
  decode(parseWire(CountRequest, body));

// --- canonical -> wire ---

const encodeEffort = ({ reasoning }: GenerationRequest): string | undefined => {
  if (reasoning?.effort === 'none') return undefined;
  return reasoning?.effort === 'minimal' ? 'low' : reasoning?.effort;
};

const encodeOutputConfig = (request: GenerationRequest) => {
  const config = omitUndefined({
    effort: encodeEffort(request),
    format: encodeOutputFormat(request),
  });
  return isEmpty(config) ? undefined : config;
};

/** The vendor's limit on end-user ids; the other family's callers may exceed it. */
const MAX_USER_LENGTH = 256;

const encodeUser = ({ user, extras }: GenerationRequest) =>
  user === undefined || (extras.protocol !== NAME && user.length > MAX_USER_LENGTH)
    ? undefined
    : { user_id: user };

/** A field made of what rode along and what is canonical; absent when neither says anything. */
const merged = (rode: unknown, own: object | undefined) =>
  rode === undefined && own === undefined ? undefined : { ...asRecord(rode), ...own };

/** @throws ApiError 400 when nothing of the conversation has a form on this wire. */
export const encodeRequest = (
  request: GenerationRequest,
  target: WireTarget,
): Record<string, unknown> => {
  const {
    thinking: rode,
    output_config: config,
    context_management: management,
    metadata,
    ...fields
  } = extraFieldsFor(NAME, request.extras);
  const tools = encodeTools(request);
  const { maxTokens } = request;
  const most = target.maxOutputTokens;
  const lowered = maxTokens !== undefined && maxTokens > most ? most : undefined;
  const thinking = withoutBetaDisplay(encodeThinking(request, { rode, lowered }), target);
  return omitUndefined({
    ...fields,
    model: target.model,
    ...encodeTurns(withInstruction(request), target),
    max_tokens: lowered ?? maxTokens ?? most,
    stream: request.stream,
    ...encodeSampling(request),
    stop_sequences: request.stop,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(request) : undefined,
    thinking,
    output_config: merged(config, encodeOutputConfig(request)),
    context_management: asksForBeta(target, 'context-management')
      ? withoutThinkingEdits(management, thinking)
      : undefined,
    metadata: merged(metadata, encodeUser(request)),
  });
};
