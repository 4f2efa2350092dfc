import { mapOnce } from '../../support/memo.ts';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { parseWire } from '../../support/schema.ts';
import { asRecord, listOf } from '../bytes/json.ts';
import {
  createCannotSay,
  type Fitted,
  fitBy,
  fitReasoning,
  fitRequest,
  lossesOn,
} from '../fit-request.ts';
import type { Block, GenerationRequest, ToolCallBlock, Turn } from '../generation.ts';
import { asReminder } from '../instructions.ts';
import { extraFieldsFor, extrasIfAny, makeExtras, without } from '../ledger/extras.ts';
import type { Profile } from '../profile.ts';
import type { HeaderMap, WireTarget } from '../protocol.ts';
import { decodeResponseFormat } from '../response-format.ts';
import { readCarriedId } from '../tools/carried-ids.ts';
import { fitCustomTools } from '../tools/custom.ts';
import { fitSchema, isStrictSchema } from '../tools/schemas.ts';
import { joinRuns, leadOf } from '../turn-runs.ts';
import { decodeContent } from './content.ts';
import { decodeFunctionCall, decodeFunctionResult, MARK } from './functions.ts';
import { decodeThoughts, placeThoughts } from './signed-thinking.ts';
import { decodeToolFields } from './tools.ts';
import { ChatRequest, type Message, TOOL_FIELDS } from './wire.ts';

type MessageOf<R extends Message['role']> = Extract<Message, { role: R }>;
type WireToolCall = NonNullable<MessageOf<'assistant'>['tool_calls']>[number];

const decodeToolCall = (wire: WireToolCall): ToolCallBlock => {
  if (wire.type === 'custom') {
    const { id, type: _, custom, ...rest } = wire;
    const { name, input, ...extra } = custom;
    const nested = isEmpty(extra) ? {} : { custom: extra };
    const call = { type: 'tool-call' as const, name, arguments: input, custom: true as const };
    return { ...call, ...extrasIfAny('chat', { ...rest, ...nested }), ...readCarriedId(id) };
  }
  const { id, type: _, function: called, ...rest } = wire;
  // The OpenAI SDK adds what it parsed to the calls that it sends back; strict providers reject it.
  const { name, arguments: text, parsed_arguments: _parsed, ...extra } = called;
  const nested = isEmpty(extra) ? {} : { function: extra };
  const call = { type: 'tool-call' as const, name, arguments: text ?? '' };
  return { ...call, ...extrasIfAny('chat', { ...rest, ...nested }), ...readCarriedId(id) };
};

/** Client libraries add `parsed` and `provider_specific_fields` to the answers that they send back. */
const decodeAssistant = (message: MessageOf<'assistant'>, index: number): Turn => {
  const {
    role,
    content,
    refusal,
    reasoning_content: reasoning,
    reasoning_details: details,
    tool_calls: calls,
    function_call: called,
    parsed: _parsed,
    provider_specific_fields: _specific,
    ...fields
  } = message;
  const parts = decodeContent(content, `messages.${index}`);
  const later: Block[] = [
    ...(refusal ? [{ type: 'text' as const, text: refusal, refusal: true as const }] : []),
    ...(calls ?? []).map(decodeToolCall),
    ...(called ? [decodeFunctionCall(called, index)] : []),
  ];
  const thoughts = decodeThoughts(details);
  if (thoughts.length > 0) {
    return { role, blocks: placeThoughts(thoughts, parts, later), ...extrasIfAny('chat', fields) };
  }
  const thinking: Block[] = reasoning ? [{ type: 'thinking', text: reasoning }] : [];
  // Details of another service are for the target that wrote them.
  const extras = extrasIfAny('chat', { ...fields, reasoning_details: details });
  return { role, blocks: [...thinking, ...parts, ...later], ...extras };
};

const decodeToolMessage = (message: MessageOf<'tool'>, param: string): Turn => {
  const { role: _, content, tool_call_id: sentId, ...fields } = message;
  const callId = readCarriedId(sentId).id;
  const result = { type: 'tool-result' as const, callId, content: decodeContent(content, param) };
  return { role: 'user', blocks: [{ ...result, ...extrasIfAny('chat', fields) }] };
};

const decodeMessage = (message: Message, index: number, called: number | undefined): Turn => {
  const param = `messages.${index}`;
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user': {
      const { role, content, ...fields } = message;
      const turn = { blocks: decodeContent(content, param), ...extrasIfAny('chat', fields) };
      // `developer` is the newer name of a role; every upstream knows `system`.
      return { role: role === 'user' ? role : 'system', ...turn };
    }
    case 'assistant':
      return decodeAssistant(message, index);
    case 'tool':
      return decodeToolMessage(message, param);
    case 'function':
      return decodeFunctionResult(message, index, called);
    default:
      return message satisfies never;
  }
};

const decodeOnce = mapOnce((message: Message, index) => decodeMessage(message, index, undefined));

const callsFunction = (message: Message): boolean =>
  message.role === 'assistant' && message.function_call !== undefined;

const decodeMessages = (messages: Message[]): Turn[] => {
  if (!messages.some(callsFunction)) return decodeOnce(messages);
  let called: number | undefined;
  return messages.map((message, index) => {
    if (callsFunction(message)) called = index;
    return decodeMessage(message, index, called);
  });
};

// --- wire -> canonical ---

/** Members that have a canonical form. */
const CANONICAL = [
  ...['model', 'messages', 'stream', 'max_tokens', 'temperature', 'top_p', 'top_k', 'n', 'stop'],
  ...TOOL_FIELDS,
  ...['response_format', 'reasoning_effort', 'user'],
];

/** @throws ApiError 400 that names the first invalid field. */
export const decodeRequest = (body: unknown): GenerationRequest => {
  const wire = parseWire(ChatRequest, body);
  const { n: choices = 1, stop, response_format: format, reasoning_effort: effort } = wire;
  return omitUndefined({
    model: wire.model,
    turns: decodeMessages(wire.messages),
    stream: wire.stream ?? false,
    // The vendor streams audio in one raw format only.
    isWhole: !wire.stream && wire.modalities?.includes('audio') ? (true as const) : undefined,
    choices: choices > 1 ? choices : undefined,
    // The newer name also stays in `extras`: from it the encoder knows which of the two to write.
    maxTokens: wire.max_completion_tokens ?? wire.max_tokens,
    temperature: wire.temperature,
    topP: wire.top_p,
    topK: wire.top_k,
    stop: listOf(typeof stop === 'string' ? [stop] : stop),
    ...(TOOL_FIELDS.some((name) => wire[name] !== undefined) && decodeToolFields(wire)),
    responseFormat: format && decodeResponseFormat(format),
    reasoning: effort === undefined ? undefined : { effort },
    user: wire.user,
    extras: makeExtras('chat', { ...without(wire, CANONICAL), ...(wire.functions && MARK) }),
  });
};

/** `include_usage` of the caller; undefined if the request does not state it. */
export const includesUsage = ({ extras }: GenerationRequest): boolean | undefined => {
  const included = asRecord(extraFieldsFor('chat', extras).stream_options)?.include_usage;
  return typeof included === 'boolean' ? included : undefined;
};

// --- canonical -> wire ---

/** Whether the target is asked for the usage of a stream. */
export const asksForUsage = ({ stream }: GenerationRequest, { streamOptions }: Profile): boolean =>
  stream && streamOptions !== false;

/** Whether the target gets custom tools as they are; of other callers only where they are known to be accepted. */
export const takesCustomTools = ({ extras }: GenerationRequest, { customTools }: Profile) =>
  customTools ?? extras.protocol === 'chat';

const fitTools = (request: GenerationRequest, profile: Profile): Fitted =>
  takesCustomTools(request, profile) ? { request, dropped: [] } : fitCustomTools(request);

const fitMetadata = (request: GenerationRequest, profile: Profile): Fitted => {
  const { metadata, ...fields } = request.extras.fields;
  const isTaken = profile.metadata !== 'stored' || fields.store === true;
  if (isTaken || request.extras.protocol !== 'chat' || metadata === undefined) {
    return { request, dropped: [] };
  }
  return { request: { ...request, extras: { ...request.extras, fields } }, dropped: ['metadata'] };
};

const isOfOneRole = (last: Turn, next: Turn): boolean => last.role === next.role;

/** The system prompt before the conversation, as one turn or as the beginning of the user's; later ones are marked turns of the user. */
const fitSystemTurns = (turns: Turn[], { systemTurns }: Profile): Turn[] => {
  const [lead, rest] = leadOf(turns);
  const isSpoken = systemTurns === 'none' && lead.length > 0;
  const spoken = lead.map((turn): Turn => ({ ...turn, role: 'user' }));
  const first = isSpoken ? [...spoken, ...rest.slice(0, 1)] : lead;
  return [...joinRuns(first, isOfOneRole), ...rest.slice(isSpoken ? 1 : 0).map(asReminder)];
};

/** The turns in the roles and the order that the target's template takes. */
const fitTurns = (request: GenerationRequest, profile: Profile): Fitted => {
  const { turns: order, systemTurns } = profile;
  const fitted = systemTurns ? fitSystemTurns(request.turns, profile) : request.turns;
  const turns = order === 'alternating' ? joinRuns(fitted, isOfOneRole) : fitted;
  return { request: turns === request.turns ? request : { ...request, turns }, dropped: [] };
};

/** The request as the target's model accepts it. */
export const fitTo = (request: GenerationRequest, target: WireTarget): Fitted =>
  fitBy([fitRequest, fitReasoning, fitTools, fitMetadata, fitTurns], request, target);

/** The caller's fields that the target does not get, or gets with another meaning. */
export const losses = (request: GenerationRequest, target: WireTarget, received: unknown) => [
  ...fitTo(request, target).dropped,
  ...lossesOn('chat', request, received, {
    strict: (schema) => isStrictSchema(fitSchema(schema, target)),
    thinking: ({ text, signature }) =>
      target.reasoningHistory !== 'refused' && !signature && text !== '',
    profile: target,
  }),
];

/** The target's headers, with that of the session if the provider has one. */
export const headersFor = ({ cacheKey }: GenerationRequest, target: WireTarget): HeaderMap => ({
  ...target.headers,
  ...(target.cacheKeyHeader !== undefined &&
    cacheKey !== undefined && { [target.cacheKeyHeader]: cacheKey }),
});

/** The vendor's limit. */
const MAX_STOPS = 4;

export const cannotSay = createCannotSay('chat', {
  maxStops: MAX_STOPS,
  // A PDF by URL from a chat caller came as an image, and is sent as one.
  documentName: ({ source, extras }) =>
    source.kind === 'url' && extras?.protocol !== 'chat' ? 'document by URL' : undefined,
});
