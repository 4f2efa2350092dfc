import { omitUndefined } from '../../support/omit-undefined.ts';
import { extraFieldsFor } from '../extras.ts';
import type {
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../generation.ts';
import { asArray, asRecord } from '../json.ts';
import { UpstreamError } from '../upstream-error.ts';
import { assertNoError, createChoiceReader, firstChoice } from './decode-stream.ts';
import { decodeFinishReason, encodeFinishReason } from './finish-reason.ts';
import { NAME } from './name.ts';
import { createResponseFields, responseFieldsOf } from './response-fields.ts';
import { encodeUsage, readUsage } from './usage.ts';

/** @throws UpstreamError when the body is not a response, or one without a good finish. */
export const decodeResponse = (body: unknown, request: GenerationRequest): GenerationEvent[] => {
  const wire = asRecord(body);
  if (!wire) throw new UpstreamError('malformed', 'the answer is not a JSON object');
  assertNoError(wire);
  const choice = firstChoice(wire);
  const message = asRecord(choice?.message);
  if (!choice || !message) throw new UpstreamError('malformed', 'the answer holds no choice');
  const reason = decodeFinishReason(choice, request);
  if (!reason) throw new UpstreamError('truncated', 'the answer has no finish_reason');
  const reader = createChoiceReader(request);
  const fields = createResponseFields();
  fields.add(wire, message);
  reader.read(message, choice.logprobs);
  reader.finish(fields.addTo(reason), readUsage(wire, choice));
  return reader.writer.drain();
};

const thinkingOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'thinking' ? block.text : '')).join('');

const textOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'text' && !block.refusal ? block.text : '')).join('');

const refusalOf = ({ blocks }: Generation): string =>
  blocks.map((block) => (block.type === 'text' && block.refusal ? block.text : '')).join('');

const toolCallsOf = ({ blocks }: Generation) =>
  blocks.flatMap((block) => {
    if (block.type !== 'tool-call') return [];
    const called = { name: block.name, arguments: block.arguments || '{}' };
    const fields = extraFieldsFor(NAME, block.extras);
    return [{ ...fields, id: block.id, type: 'function', function: called }];
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

export const encodeResponse = (
  generation: Generation,
  _request: GenerationRequest,
  meta: ResponseMeta,
): Record<string, unknown> => {
  const text = textOf(generation);
  const refusal = refusalOf(generation);
  const reasoning = thinkingOf(generation);
  const calls = toolCallsOf(generation);
  const fields = responseFieldsOf(generation.reason.extras);
  const message = omitUndefined({
    ...fields.message,
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal || null,
    reasoning_content: reasoning === '' ? undefined : reasoning,
    tool_calls: calls.length > 0 ? calls : undefined,
  });
  const finishReason = encodeFinishReason(generation.reason);
  return {
    id: `chatcmpl-${meta.id}`,
    ...fields.response,
    object: 'chat.completion',
    created: meta.created,
    model: meta.model,
    choices: [{ index: 0, message, logprobs: logprobsOf(generation), finish_reason: finishReason }],
    usage: encodeUsage(generation.usage, meta.estimateInput),
  };
};
