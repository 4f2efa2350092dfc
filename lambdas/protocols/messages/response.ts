import { messageAsEvents } from '#late/crossing';
import { omitUndefined } from '../../support/objects.ts';
import { asArray, asRecord, isTooDeep, type Json } from '../bytes/json.ts';
import type { AnswerBlock, Generation, GenerationRequest, ResponseMeta } from '../generation.ts';
import { assertNoError } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { withBody } from '../streams/event-writer.ts';
import { parseArguments } from './content.ts';
import { streamDecoder } from './decode-stream.ts';
import { decodeFinishReason, encodeFinishReason } from './finish-reason.ts';
import { messageId, responseToolId } from './ids.ts';
import { createBlockReader } from './stream-reader.ts';
import { encodeMessageUsage, usageIn } from './usage.ts';

/** @throws UpstreamError when the body is not a response, or one without a stop_reason. */
export const decodeResponse = (body: unknown, request: GenerationRequest, text?: string) => {
  const wire = asRecord(body);
  if (wire) assertNoError(wire);
  if (wire?.type !== 'message') {
    throw new UpstreamError('malformed', 'the response is not a message', { sent: wire });
  }
  const reason = decodeFinishReason(wire);
  if (!reason) throw new UpstreamError('truncated', 'the response has no stop_reason');
  const isSame = request.extras.protocol === 'messages';
  if (isSame && request.stream) {
    const { push } = streamDecoder(request);
    return messageAsEvents(wire).flatMap((event) => push({ data: JSON.stringify(event) }));
  }
  const { writer, ...blocks } = createBlockReader(request);
  writer.start();
  asArray(wire.content).forEach((block, index) => {
    blocks.start(String(index), asRecord(block) ?? {});
    blocks.stop(String(index));
  });
  writer.finish(reason, usageIn(wire));
  const events = writer.drain();
  return isSame ? withBody(events, omitUndefined({ text, value: wire })) : events;
};

/** Arguments as an object. @throws UpstreamError when they nest too deep to be encoded. */
const inputOf = (text: string): Json => {
  const input = parseArguments(text);
  if (isTooDeep(input)) throw new UpstreamError('malformed', 'tool arguments nest too deep');
  return input;
};

/** `isEdit`: what the upstream sent is there, and keeps what only this protocol has. */
const encodeBlock = (block: AnswerBlock, isEdit: boolean): Json[] => {
  switch (block.type) {
    case 'text':
      return block.text === '' && !isEdit ? [] : [{ type: 'text', text: block.text }];
    case 'thinking': {
      const { text: thinking, signature = '', redacted } = block;
      return [
        redacted
          ? { type: 'redacted_thinking', data: signature }
          : { type: 'thinking', thinking, signature },
      ];
    }
    case 'tool-call': {
      const { name, arguments: text } = block;
      return [{ type: 'tool_use', id: responseToolId(block), name, input: inputOf(text) }];
    }
    case 'native':
      return block.protocol === 'messages' ? [isEdit ? {} : block.value] : [];
    default:
      return block satisfies never;
  }
};

export const encodeResponse = (
  { blocks, reason, usage, body }: Generation,
  request: GenerationRequest,
  meta: ResponseMeta,
): Record<string, unknown> => {
  const counts = usage ?? { inputTokens: 0, outputTokens: 0 };
  return {
    id: messageId(meta.id, request, body?.value),
    type: 'message',
    role: 'assistant',
    model: meta.model,
    content: blocks.flatMap((block) => encodeBlock(block, body !== undefined)),
    ...encodeFinishReason(reason),
    diagnostics: null,
    // The lifetimes of its writes are those that the upstream sent.
    usage: {
      ...encodeMessageUsage(counts, meta.estimateInput),
      ...(body && { cache_creation: null }),
    },
  };
};
