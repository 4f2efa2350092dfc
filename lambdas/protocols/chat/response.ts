import { omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asRecord, type Json, listOf } from '../bytes/json.ts';
import type {
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
  ToolCallBlock,
} from '../generation.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { assertNoError } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { withBody } from '../streams/event-writer.ts';
import { carryingId } from '../tools/carried-ids.ts';
import { annotationsOf, type Span } from './annotations.ts';
import { createChoices, streamDecoder } from './decode-stream.ts';
import { encodeFinishReason } from './finish-reason.ts';
import { usesFunctions } from './functions.ts';
import { encodeThoughts, thoughtsIn } from './signed-thinking.ts';
import { encodeUsage, firstChoice, usageIn } from './usage.ts';

/** A whole response as a stream of one chunk, for a caller of the protocol who asked for a stream. */
const streamed = (wire: Json, request: GenerationRequest): GenerationEvent[] => {
  const choices = asArray(wire.choices).map((one) => {
    const { message, ...choice } = asRecord(one) ?? {};
    const { tool_calls: calls, ...delta } = asRecord(message) ?? {};
    const fragments = asArray(calls).map((call, index) => ({ index, ...asRecord(call) }));
    return { ...choice, delta: { ...delta, tool_calls: listOf(fragments) } };
  });
  const { push, end } = streamDecoder(request);
  return [...push({ data: JSON.stringify({ ...wire, choices }) }), ...end()];
};

/** @throws UpstreamError when the body is not a response, or one without a good finish. */
export const decodeResponse = (body: unknown, request: GenerationRequest, text?: string) => {
  const wire = asRecord(body);
  if (!wire) throw new UpstreamError('malformed', 'the answer is not a JSON object');
  assertNoError(wire);
  if (!asRecord(firstChoice(wire)?.message))
    throw new UpstreamError('malformed', 'the answer holds no choice', { sent: wire });
  const isSame = request.extras.protocol === 'chat';
  if (isSame && request.stream) return streamed(wire, request);
  const choices = createChoices(request);
  choices.read(wire);
  choices.finish(usageIn(wire));
  const events = choices.drain();
  return isSame ? withBody(events, omitUndefined({ text, value: wire })) : events;
};

const thinkingOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'thinking' ? block.text : '')).join('');

const textOf = ({ blocks }: Pick<Generation, 'blocks'>): string =>
  blocks.map((block) => (block.type === 'text' && !block.refusal ? block.text : '')).join('');

/** Where a block's text is in that of the message. */
const spanIn =
  ({ blocks }: Generation) =>
  (index: number): Span | undefined => {
    const block = blocks[index];
    if (block?.type !== 'text') return undefined;
    const start = textOf({ blocks: blocks.slice(0, index) }).length;
    return { start, end: start + block.text.length };
  };

const refusalOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'text' && block.refusal ? block.text : '')).join('');

/** A call, whole or the start of a streamed one. */
export const toolCall = (
  { id: own, name, custom, extras }: Pick<ToolCallBlock, 'id' | 'name' | 'custom' | 'extras'>,
  text: string,
): Json => {
  // Without it another protocol's upstream rejects the next turn.
  const id = extras?.fields.thoughtSignature === undefined ? own : carryingId(own, extras);
  const { function: nested, ...fields } = extraFieldsFor('chat', extras);
  return custom
    ? { ...fields, id, type: 'custom', custom: { name, input: text } }
    : { ...fields, id, type: 'function', function: { ...asRecord(nested), name, arguments: text } };
};

const toolCallsOf = ({ blocks }: Generation) =>
  blocks.flatMap((block) => {
    if (block.type !== 'tool-call') return [];
    return [toolCall(block, block.custom ? block.arguments : block.arguments || '{}')];
  });

/** The calls in the form that the client reads, and none in the other one. */
const callsIn = (calls: Json[], request: GenerationRequest): Json =>
  usesFunctions(request)
    ? { function_call: calls[0]?.function, tool_calls: undefined }
    : { tool_calls: listOf(calls), function_call: undefined };

const encodeMessage = (generation: Generation, request: GenerationRequest): Json => {
  const text = textOf(generation);
  const refusal = refusalOf(generation);
  const calls = toolCallsOf(generation);
  const isSpoken = generation.blocks.some(({ type }) => type === 'native');
  const hasOther = calls.length > 0 || refusal !== '' || isSpoken;
  const thinking = thinkingOf(generation);
  return {
    role: 'assistant',
    content: text === '' && hasOther ? null : text,
    refusal: refusal || null,
    // Reasoning has one name for callers, and two among upstreams.
    ...(thinking !== '' && { reasoning_content: thinking, reasoning: undefined }),
    ...encodeThoughts(thoughtsIn(generation.blocks)),
    ...(generation.citations && annotationsOf(generation.citations, text, spanIn(generation))),
    ...callsIn(calls, request),
  };
};

const choicesIn = ({ blocks, reason, others = [], usage, citations }: Generation): Generation[] =>
  [reason, ...others].map((ofChoice, index) => ({
    blocks: blocks.filter(({ choice = 0 }) => choice === index),
    reason: ofChoice,
    usage,
    ...(index === 0 && citations && { citations }),
  }));

export const encodeResponse = (
  generation: Generation,
  request: GenerationRequest,
  meta: ResponseMeta,
): Record<string, unknown> => ({
  id: `chatcmpl-${meta.id}`,
  object: 'chat.completion',
  created: asCount(generation.body?.value.created) ?? meta.created,
  model: meta.model,
  choices: choicesIn(generation).map((choice, index) => ({
    index,
    message: encodeMessage(choice, request),
    logprobs: null,
    finish_reason: encodeFinishReason(choice.reason, request),
  })),
  usage: encodeUsage(generation.usage, meta.estimateInput),
});
