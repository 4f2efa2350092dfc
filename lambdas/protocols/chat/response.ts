import { omitUndefined } from '../../support/omit-undefined.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type {
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
  ToolCallBlock,
} from '../generation.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { assertNoError, createChoices, firstChoice } from './decode-stream.ts';
import { encodeFinishReason } from './finish-reason.ts';
import { usesFunctions } from './functions.ts';
import { NAME } from './name.ts';
import { responseFieldsOf } from './response-fields.ts';
import { encodeThoughts, thoughtsIn } from './signed-thinking.ts';
import { encodeUsage, readUsage } from './usage.ts';

/** @throws UpstreamError when the body is not a response, or one without a good finish. */
export const decodeResponse = (body: unknown, request: GenerationRequest): GenerationEvent[] => {
  const wire = asRecord(body);
  if (!wire) throw new UpstreamError('malformed', 'the answer is not a JSON object');
  assertNoError(wire);
  const choice = firstChoice(wire);
  if (!asRecord(choice?.message))
    throw new UpstreamError('malformed', 'the answer holds no choice');
  const choices = createChoices(request);
  return [...choices.read(wire), ...choices.finish(readUsage(wire, choice))];
};

const thinkingOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'thinking' ? block.text : '')).join('');

const textOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'text' && !block.refusal ? block.text : '')).join('');

const refusalOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'text' && block.refusal ? block.text : '')).join('');

/** A call, whole or the start of a streamed one. */
export const toolCall = (
  { id, name, custom, extras }: Pick<ToolCallBlock, 'id' | 'name' | 'custom' | 'extras'>,
  text: string,
): Json => {
  const { function: nested, ...fields } = extraFieldsFor(NAME, extras);
  return custom
    ? { ...fields, id, type: 'custom', custom: { name, input: text } }
    : { ...fields, id, type: 'function', function: { ...asRecord(nested), name, arguments: text } };
};

const toolCallsOf = ({ blocks }: Generation) =>
  blocks.flatMap((block) => {
    if (block.type !== 'tool-call') return [];
    return [toolCall(block, block.custom ? block.arguments : block.arguments || '{}')];
  });

const logprobsOf = ({ blocks }: Generation): unknown => {
  const parts = blocks.flatMap(({ extra }) =>
    (extra ?? []).flatMap(({ protocol, fields }) =>
      protocol === NAME ? [asRecord(fields.logprobs)] : [],
    ),
  );
  if (parts.length === 0) return null;
  const listOf = (name: string) => parts.flatMap((part) => asArray(part?.[name]));
  const content = listOf('content');
  const refusal = listOf('refusal');
  return refusal.length > 0
    ? { ...parts[0], content: content.length > 0 ? content : null, refusal }
    : { ...parts[0], content };
};

/** Members of which a stream sends parts. */
const IN_PARTS = ['data', 'transcript'];

/** The audio of a spoken response, its parts joined. */
const audioOf = ({ blocks }: Generation): Json | undefined => {
  const spoken = blocks.find((block) => block.type === 'native' && block.protocol === NAME);
  const parts = spoken?.extra?.map(({ fields }) => asRecord(fields.audio) ?? {});
  const joined = IN_PARTS.flatMap((name): [string, string][] => {
    const texts = parts?.flatMap((part) => asString(part[name]) ?? []) ?? [];
    return texts.length > 0 ? [[name, texts.join('')]] : [];
  });
  return parts && Object.assign({}, ...parts, Object.fromEntries(joined));
};

const encodeMessage = (generation: Generation, request: GenerationRequest): Json => {
  const text = textOf(generation);
  const refusal = refusalOf(generation);
  const calls = toolCallsOf(generation);
  const audio = audioOf(generation);
  const hasOther = calls.length > 0 || refusal !== '' || audio !== undefined;
  return omitUndefined({
    ...responseFieldsOf(generation.reason.extras).message,
    role: 'assistant',
    content: text === '' && hasOther ? null : text,
    refusal: refusal || null,
    reasoning_content: thinkingOf(generation) || undefined,
    ...encodeThoughts(thoughtsIn(generation.blocks)),
    audio,
    ...(usesFunctions(request)
      ? { function_call: calls[0]?.function }
      : { tool_calls: calls.length > 0 ? calls : undefined }),
  });
};

/** The choices, each as a separate response. */
const choicesIn = ({ blocks, reason, others = [], usage }: Generation): Generation[] =>
  [reason, ...others].map((ofChoice, index) => ({
    blocks: blocks.filter(({ choice = 0 }) => choice === index),
    reason: ofChoice,
    usage,
  }));

export const encodeResponse = (
  generation: Generation,
  request: GenerationRequest,
  meta: ResponseMeta,
): Record<string, unknown> => ({
  id: `chatcmpl-${meta.id}`,
  ...responseFieldsOf(generation.reason.extras).response,
  object: 'chat.completion',
  created: meta.created,
  model: meta.model,
  choices: choicesIn(generation).map((choice, index) => ({
    index,
    message: encodeMessage(choice, request),
    logprobs: logprobsOf(choice),
    finish_reason: encodeFinishReason(choice.reason, request),
    ...responseFieldsOf(choice.reason.extras).choice,
  })),
  usage: encodeUsage(generation.usage, meta.estimateInput),
});
