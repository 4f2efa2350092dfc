import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { parseWire } from '../../support/schema.ts';
import { withEdits } from '../bytes/edits.ts';
import { asArray, asRecord, type Json, listOf } from '../bytes/json.ts';
import { markingOf, marksOf } from '../cache/marks.ts';
import { cacheLosses, createCacheLosses, rejectedMembers, withMarksFor } from '../cache/members.ts';
import { type Fitted, fitRequest, fitSchema, partsRefused } from '../fit-request.ts';
import type { DocumentBlock, GenerationRequest, Reasoning } from '../generation.ts';
import { instructionEdits } from '../instructions.ts';
import { extraFieldsFor, makeExtras, partsBeyond } from '../ledger/extras.ts';
import { essentialBeyond, isDefault, lossesBeyond, plain } from '../ledger/ledger.ts';
import { isPdf } from '../media.ts';
import type { Profile } from '../profile.ts';
import type { CallerHeaders, WireTarget } from '../protocol.ts';
import { sharedFor, sharedIn } from '../shared-members.ts';
import { lostGrammar } from '../tools/custom.ts';
import { fitThinking } from './fit-thinking.ts';
import { BETA_HEADER, callerHeaders, losesBeta, withCallerBetas } from './headers.ts';
import { NAME } from './name.ts';
import {
  decodeResponseFormat,
  encodeResponseFormat,
  isWithinStrict,
  withInstruction,
} from './response-format.ts';
import { encodeThinking, modeOf } from './thinking.ts';
import {
  decodeParallel,
  decodeTool,
  decodeToolChoice,
  encodeToolChoice,
  encodeTools,
  fitAllowed,
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

/** The members of a field that are not canonical, under its name; kept in `extras`. */
const membersBeyond = (name: string, record: object | undefined, canonical: string[]) => {
  const rest = Object.entries(record ?? {}).filter(
    ([key, value]) => !canonical.includes(key) && value != null,
  );
  return rest.length > 0 ? { [name]: Object.fromEntries(rest) } : {};
};

/** The vendor's code: its SDK's tool runner reacts by sending the whole history without a thread. */
const UNTHREADED = { error_code: 'thread_unsupported_request' };

/** Threads are conversations stored by the vendor. The router stores none. @throws ApiError 400 */
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
    // Settings of an agent, with paths of its user's machine: never forwarded.
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
    responseFormat: decodeResponseFormat(outputConfig?.format ?? outputFormat),
    reasoning: decodeReasoning(wire),
    user: metadata?.user_id,
    chatFields: sharedIn(NAME, wire),
    extras: makeExtras(NAME, {
      ...fields,
      // The field of an unknown mode is kept whole.
      ...membersBeyond('thinking', thinking, modeOf(thinking) ? ['type', 'budget_tokens'] : []),
      ...membersBeyond('output_config', outputConfig, ['effort', 'format']),
      ...membersBeyond('metadata', metadata, ['user_id']),
    }),
  });
};

/** @throws ApiError 400 that names the first invalid field. */
export const decodeRequest = (body: unknown, headers?: CallerHeaders): GenerationRequest => {
  const request = decode(parseWire(MessagesRequest, body));
  assertContent(request.turns);
  return { ...request, ...callerHeaders(headers) };
};

/** Body of the token-count endpoint: the same fields, `max_tokens` is optional. @throws ApiError 400 */
export const decodeCountRequest = (body: unknown, headers?: CallerHeaders): GenerationRequest => ({
  ...decode(parseWire(CountRequest, body)),
  ...callerHeaders(headers),
});

// --- canonical -> wire ---

export const encodeEffort = ({ reasoning }: GenerationRequest): string | undefined => {
  if (reasoning?.effort === 'none') return undefined;
  return reasoning?.effort === 'minimal' ? 'low' : reasoning?.effort;
};

const encodeOutputConfig = (request: GenerationRequest) => {
  const config = omitUndefined({
    effort: encodeEffort(request),
    format: encodeResponseFormat(request),
  });
  return isEmpty(config) ? undefined : config;
};

/** The vendor's limit on end-user ids; callers of other protocols may exceed it. */
const MAX_USER_LENGTH = 256;

const encodeUser = ({ user, extras }: GenerationRequest) =>
  user === undefined || (extras.protocol !== NAME && user.length > MAX_USER_LENGTH)
    ? undefined
    : { user_id: user };

/** A field made of its passed-through members and its canonical ones; absent if it has neither. */
const mergeField = (passthrough: unknown, canonical: object | undefined) =>
  passthrough === undefined && canonical === undefined
    ? undefined
    : { ...asRecord(passthrough), ...canonical };

/** The request as the target's model accepts it. */
export const fitTo = (original: GenerationRequest, target: WireTarget): Fitted => {
  const { request, dropped } = fitRequest(original, target);
  const allowed = fitAllowed(request);
  const thinking = fitThinking(allowed.request, target);
  return {
    request: withInstruction(thinking.request),
    dropped: [...dropped, ...allowed.dropped, ...thinking.dropped],
  };
};

/** The sampling fields that were to be sent and are not: the vendor rejects them next to others. */
const lostSampling = (request: GenerationRequest, target: WireTarget): string[] => {
  const { temperature, topP: top_p, topK: top_k } = request;
  const { sampling } = encodeThinking(request, {}, { target, cap: Number.POSITIVE_INFINITY });
  return Object.entries({ temperature, top_p, top_k }).flatMap(([name, value]) =>
    isDefault(request.extras, name, value) || name in sampling ? [] : [name],
  );
};

/** What system turns of this protocol set, for a target that gets them as text. */
const lostSettings = (
  { turns, extras }: GenerationRequest,
  { systemTurns }: WireTarget,
): string[] =>
  extras.protocol === NAME && systemTurns === 'leading'
    ? turns.flatMap((turn) =>
        turn.role === 'system'
          ? Object.keys(extraFieldsFor(NAME, turn.extras)).map(
              (name) => `messages[system].${plain(name)}`,
            )
          : [],
      )
    : [];

/** The caller's fields that the target does not get, or gets with another meaning. */
export const losses = (
  original: GenerationRequest,
  catalogTarget: WireTarget,
  received: unknown,
): string[] => {
  const target = withCallerBetas(catalogTarget, original);
  const { request, dropped } = fitTo(original, target);
  const isOwn = original.extras.protocol === NAME;
  return [
    ...dropped,
    ...lostSampling(request, target),
    ...(isOwn ? cacheLosses(received, target, original.turns) : []),
    ...lossesBeyond(NAME, request, received, {
      strict: (schema) => isWithinStrict(fitSchema(schema, target)),
      thinking: ({ signature }) => Boolean(signature),
      cache: createCacheLosses(original, { to: NAME, profile: target }),
    }),
    ...lostSettings(request, target),
    ...lostGrammar(request),
    ...(losesBeta(target, original) ? [BETA_HEADER] : []),
  ];
};

/** @throws ApiError 400 when no part of the conversation has a form in this protocol. */
export const encodeRequest = (
  original: GenerationRequest,
  catalogTarget: WireTarget,
): Record<string, unknown> => {
  const target = withCallerBetas(catalogTarget, original);
  const fitted = fitTo(original, target).request;
  const request = withMarksFor(fitted, { to: NAME, profile: target });
  const passthrough = extraFieldsFor(NAME, request.extras);
  const {
    thinking: _thinking,
    context_management: _management,
    output_config: config,
    metadata,
    ...fields
  } = passthrough;
  const shared = sharedFor(NAME, request);
  const tools = encodeTools(request);
  const { maxTokens } = request;
  const limit = target.maxOutputTokens;
  const isLowered = maxTokens !== undefined && maxTokens > limit;
  const cap = isLowered ? limit : Number.POSITIVE_INFINITY;
  const { thinking, sampling, contextManagement } = encodeThinking(request, passthrough, {
    target,
    cap,
  });
  const wire: Json = omitUndefined({
    ...fields,
    ...shared,
    model: target.model,
    ...encodeTurns(request, target),
    max_tokens: isLowered ? limit : (maxTokens ?? limit),
    stream: request.stream,
    ...sampling,
    stop_sequences: request.stop,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(request) : undefined,
    thinking,
    output_config: mergeField(config ?? shared.output_config, encodeOutputConfig(request)),
    context_management: contextManagement,
    metadata: mergeField(metadata ?? shared.metadata, encodeUser(request)),
  });
  const { by, why } = markingOf(original, target);
  const marked = by === 'router' ? withEdits(wire, marksOf(wire, why)) : wire;
  return withEdits(marked, [
    ...rejectedMembers(marked, target),
    ...instructionEdits(asArray(marked.messages), request, false),
  ]);
};

/** The vendor reads PDFs and plain text only. */
const documentName = ({ source }: DocumentBlock): string | undefined => {
  if (source.kind !== 'base64') return undefined;
  const isReadable = isPdf(source) || source.mediaType.startsWith('text/');
  return isReadable ? undefined : source.mediaType;
};

/** The vendor rejects white space; without the stop sequence the model would run on. */
const isBlank = (stop: string): boolean => stop.trim() === '';

export const cannotSay = (request: GenerationRequest, profile: Profile = {}): string[] => [
  ...partsBeyond(NAME, request, documentName),
  ...essentialBeyond(NAME, request.extras),
  ...partsRefused(request, profile),
  ...(request.stop?.some(isBlank) ? ['stop sequence of white space'] : []),
  ...(request.choices === undefined ? [] : ['n above 1']),
];
