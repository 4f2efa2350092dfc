import { asNumber, asRecord, asString, type Json } from '../bytes/json.ts';
import type { FinishReason, GenerationRequest } from '../generation.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createStreamDecoder, ownCaller, type StreamReader } from '../streams/decode.ts';
import { received } from '../streams/relay.ts';
import { decodeFinishReason } from './finish-reason.ts';
import { NAME } from './name.ts';
import { createBlockReader } from './stream-reader.ts';
import { createSum } from './sum.ts';
import { decodeUsage, mergeUsage, readMessageUsage, readUsage, type WireUsage } from './usage.ts';

/** A repeated `message_start` is accepted (some proxies send it twice), one of another message is not. */
const assertSameMessage = (current: string | undefined, id: string | undefined) => {
  if (current === undefined || id === undefined || current === id) return;
  throw new UpstreamError('malformed', 'two messages in one stream');
};

/** The key of an event's block; some upstreams leave the index out. */
const keyOf = ({ index }: Json): string => String(asNumber(index) ?? 'unnamed');

const createMessageReader = (request: GenerationRequest): StreamReader => {
  const blocks = createBlockReader(request);
  const { writer } = blocks;
  let id: string | undefined;
  let usage: WireUsage = {};
  let reason: FinishReason | undefined;

  const open = (message: Json | undefined) => {
    const messageId = asString(message?.id);
    assertSameMessage(id, messageId);
    id ??= messageId;
    usage = mergeUsage(usage, readMessageUsage(message));
    writer.start(decodeUsage(usage));
  };

  return {
    writer,
    hasReason: () => reason !== undefined,
    read: (event) => {
      switch (event.type) {
        case 'message_start':
          return open(asRecord(event.message));
        case 'content_block_start':
          return blocks.start(keyOf(event), asRecord(event.content_block) ?? {});
        case 'content_block_delta':
          return blocks.append(keyOf(event), asRecord(event.delta) ?? {});
        case 'content_block_stop':
          return blocks.stop(keyOf(event));
        case 'message_delta':
          usage = mergeUsage(usage, readUsage(event.usage));
          reason = decodeFinishReason(asRecord(event.delta) ?? {}) ?? reason;
          return undefined;
        case 'error':
          throw new UpstreamError('error-event', 'the upstream sent an error', { sent: event });
        default:
          return undefined;
      }
    },
    finish: () => {
      if (!reason) throw new UpstreamError('truncated', 'the stream ended without a stop_reason');
      blocks.stopAll();
      writer.finish(reason, decodeUsage(usage));
    },
    isEnd: ({ type }) => type === 'message_stop',
  };
};

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder =>
  createStreamDecoder(createMessageReader(request), ownCaller(request, NAME), {
    ...{ relay: received, createSum },
  });
