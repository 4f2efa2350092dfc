import { isDefault, isWithinStrict, lostEdits, lostSettings } from '#late/crossing';
import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { parseWire } from '../../support/schema.ts';
import { type Json, listOf } from '../bytes/json.ts';
import { createCannotSay, type Fitted, fitBy, fitRequest, lossesOn } from '../fit-request.ts';
import type { DocumentBlock, GenerationRequest, Reasoning, ThinkingBlock } from '../generation.ts';
import { extraFieldsFor, makeExtras, without } from '../ledger/extras.ts';
import { isPdf } from '../media.ts';
import type { CallerHeaders, WireTarget } from '../protocol.ts';
import { sharedIn } from '../shared-members.ts';
import { lostGrammar } from '../tools/custom.ts';
import { fitSchema } from '../tools/schemas.ts';
import { fitThinking } from './fit-thinking.ts';
import { BETA_HEADER, callerHeaders, losesBeta, withCallerBetas } from './headers.ts';
import { decodeResponseFormat, fitFormat } from './response-format.ts';
import { encodeThinking, modeOf, takesManagement } from './thinking.ts';
import { decodeParallel, decodeTool, decodeToolChoice, fitAllowed } from './tools.ts';
import { assertContent, decodeTurns } from './turns.ts';
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
const membersBeyond = (name: string, record: Json | undefined, canonical: string[]) => {
  const { fields } = makeExtras('messages', without(record ?? {}, canonical));
  return isEmpty(fields) ? {} : { [name]: fields };
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

/** Members that have a canonical form, and settings of an agent, with paths of its user's machine: never forwarded. */
const CANONICAL = [
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'temperature', 'top_p', 'top_k'],
  ...['stop_sequences', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format'],
  ...['metadata', 'thread', 'safeguards'],
];

const decode = (wire: CountRequest): GenerationRequest => {
  const { tool_choice: toolChoice, thinking, output_config: outputConfig, metadata } = wire;
  assertNoThread(wire.thread);
  return omitUndefined({
    model: wire.model,
    turns: decodeTurns(wire.messages, wire.system),
    stream: wire.stream ?? false,
    maxTokens: wire.max_tokens,
    temperature: wire.temperature,
    topP: wire.top_p,
    topK: wire.top_k,
    stop: listOf(wire.stop_sequences),
    tools: wire.tools?.map(decodeTool),
    toolChoice: toolChoice && decodeToolChoice(toolChoice),
    parallelToolCalls: decodeParallel(toolChoice),
    // `output_format` is the field's name in an older beta.
    responseFormat: decodeResponseFormat(outputConfig?.format ?? wire.output_format),
    reasoning: decodeReasoning(wire),
    user: metadata?.user_id,
    chatFields: sharedIn('messages', wire),
    extras: makeExtras('messages', {
      ...without(wire, CANONICAL),
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

/** The request as the target's model accepts it. */
export const fitTo = (original: GenerationRequest, target: WireTarget): Fitted =>
  fitBy([fitRequest, fitAllowed, fitThinking, fitFormat], original, target);

/** The sampling fields that were to be sent and are not: the vendor rejects them next to others. */
const lostSampling = (request: GenerationRequest, target: WireTarget): string[] => {
  const { temperature, topP: top_p, topK: top_k } = request;
  const { sampling } = encodeThinking(request, {}, { target, cap: Number.POSITIVE_INFINITY });
  return Object.entries({ temperature, top_p, top_k }).flatMap(([name, value]) =>
    value == null || name in sampling || isDefault(request.extras, name, value) ? [] : [name],
  );
};

const isSigned = ({ signature }: ThinkingBlock): boolean => Boolean(signature);

/** The caller's fields that the target does not get, or gets with another meaning. */
export const losses = (
  original: GenerationRequest,
  catalogTarget: WireTarget,
  received: unknown,
): string[] => {
  const target = withCallerBetas(catalogTarget, original);
  const { request, dropped } = fitTo(original, target);
  const { context_management } = extraFieldsFor('messages', original.extras);
  return [
    ...dropped,
    ...lostSampling(request, target),
    ...lossesOn(
      ...(['messages', request, received] as const),
      {
        strict: (schema) => isWithinStrict(fitSchema(schema, target)),
        thinking: isSigned,
        profile: target,
      },
      original.turns,
    ),
    ...(target.systemTurns === 'leading' ? lostSettings(request) : []),
    ...(context_management && !takesManagement(target) ? lostEdits(context_management) : []),
    ...lostGrammar(request),
    ...(losesBeta(target, original) ? [BETA_HEADER] : []),
  ];
};

/** The vendor reads PDFs and plain text only. */
const documentName = ({ source }: DocumentBlock): string | undefined => {
  if (source.kind !== 'base64') return undefined;
  const isReadable = isPdf(source) || source.mediaType.startsWith('text/');
  return isReadable ? undefined : source.mediaType;
};

/** The vendor rejects white space; without the stop sequence the model would run on. */
const isBlank = (stop: string): boolean => stop.trim() === '';

export const cannotSay = createCannotSay('messages', {
  documentName,
  others: ({ stop }) => (stop?.some(isBlank) ? ['stop sequence of white space'] : []),
});
