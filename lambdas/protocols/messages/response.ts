import { omitUndefined } from '../../support/omit-undefined.ts';
import { asArray, asRecord, isTooDeep, type Json } from '../bytes/json.ts';
import type {
  AnswerBlock,
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../generation.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { parseArguments } from './content.ts';
import { decodeFinishReason, encodeFinishReason, startMembersOf } from './finish-reason.ts';
import { responseToolId } from './ids.ts';
import { NAME } from './name.ts';
import { createBlockReader } from './stream-reader.ts';
import { decodeUsage, encodeMessageUsage, readUsage } from './usage.ts';

/** @throws UpstreamError when the body is not a response, or one without a stop_reason. */
export const decodeResponse = (body: unknown, request: GenerationRequest): GenerationEvent[] => {
  const wire = asRecord(body);
  if (wire?.type === 'error') {
    throw new UpstreamError('error-event', 'the upstream sent an error', { sent: wire });
  }
  if (wire?.type !== 'message') {
    throw new UpstreamError('malformed', 'the response is not a message');
  }
  // The others are read as members of the start.
  const { stop_reason, stop_sequence, stop_details, container, context_management } = wire;
  const ending = { stop_reason, stop_sequence, stop_details, container, context_management };
  const reason = decodeFinishReason(ending);
  if (!reason) throw new UpstreamError('truncated', 'the response has no stop_reason');
  const { writer, ...blocks } = createBlockReader(request);
  writer.start(undefined, startMembersOf(wire).extras);
  asArray(wire.content).forEach((block, index) => {
    blocks.start(String(index), asRecord(block) ?? {});
    for (const citation of asArray(asRecord(block)?.citations)) {
      blocks.append(String(index), { type: 'citations_delta', citation });
    }
    blocks.stop(String(index));
  });
  writer.finish(reason, decodeUsage(readUsage(wire.usage)));
  return writer.drain();
};

const citationsOf = ({ extra = [] }: AnswerBlock): unknown[] | undefined => {
  const citations = extra.flatMap(({ protocol, fields }) =>
    protocol === NAME && fields.type === 'citations_delta' ? [fields.citation] : [],
  );
  return citations.length > 0 ? citations : undefined;
};

/** Arguments as an object. @throws UpstreamError when they nest too deep to be encoded. */
const inputOf = (text: string): Json => {
  const input = parseArguments(text);
  if (isTooDeep(input)) throw new UpstreamError('malformed', 'tool arguments nest too deep');
  return input;
};

/** A native block; input that came in fragments is joined. */
const encodeNative = (block: Extract<AnswerBlock, { type: 'native' }>) => {
  if (block.protocol !== NAME) return [];
  const input = (block.extra ?? [])
    .map(({ fields }) => (fields.type === 'input_json_delta' ? fields.partial_json : ''))
    .join('');
  return [input === '' ? block.value : { ...block.value, input: inputOf(input) }];
};

const encodeBlock = (block: AnswerBlock): Record<string, unknown>[] => {
  switch (block.type) {
    case 'text':
      return block.text === ''
        ? []
        : [
            omitUndefined({
              ...extraFieldsFor(NAME, block.extras),
              ...{ type: 'text', text: block.text, citations: citationsOf(block) },
            }),
          ];
    case 'thinking': {
      const { text: thinking, signature = '', redacted, extras } = block;
      const fields = extraFieldsFor(NAME, extras);
      if (redacted) return [{ ...fields, type: 'redacted_thinking', data: signature }];
      return [{ ...fields, type: 'thinking', thinking, signature }];
    }
    case 'tool-call': {
      const { name, arguments: text, extras } = block;
      const call = { id: responseToolId(block), name, input: inputOf(text) };
      return [{ ...extraFieldsFor(NAME, extras), type: 'tool_use', ...call }];
    }
    case 'native':
      return encodeNative(block);
    default:
      return block satisfies never;
  }
};

export const encodeResponse = (
  { blocks, reason, usage, extras }: Generation,
  _request: GenerationRequest,
  meta: ResponseMeta,
): Record<string, unknown> => {
  const counts = usage ?? { inputTokens: 0, outputTokens: 0 };
  const { diagnostics = null, ...start } = extraFieldsFor(NAME, extras);
  const { adjacent, ending } = encodeFinishReason(reason);
  return {
    id: `msg_${meta.id}`,
    type: 'message',
    role: 'assistant',
    model: meta.model,
    content: blocks.flatMap(encodeBlock),
    ...start,
    ...ending,
    ...adjacent,
    diagnostics,
    usage: encodeMessageUsage(counts, meta.estimateInput),
  };
};
