import {
  asNumber,
  asRecord,
  asString,
  type Json,
  parseUpstreamJson,
  readJsonObject,
} from '../bytes/json.ts';
import type { FinishReason, GenerationEvent, GenerationRequest } from '../generation.ts';
import { membersBeyond } from '../ledger/extras.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { decodeFinishReason, startMembersOf, withStop } from './finish-reason.ts';
import { NAME } from './name.ts';
import { createBlockReader } from './stream-reader.ts';
import { decodeUsage, mergeUsage, readUsage, type WireUsage } from './usage.ts';

/** A repeated `message_start` is accepted (some proxies send it twice), one of another message is not. */
const assertSameMessage = (current: string | undefined, id: string | undefined) => {
  if (current === undefined || id === undefined || current === id) return;
  throw new UpstreamError('malformed', 'two messages in one stream');
};

/** The key of an event's block; some upstreams leave the index out. */
const keyOf = ({ index }: Json): string => String(asNumber(index) ?? 'unnamed');

/** The fields that end a message; two of them are next to the delta. */
const endOf = ({ delta, context_management, input_transformations }: Json): Json => ({
  ...asRecord(delta),
  context_management,
  input_transformations,
});

/** Members of the message's last event but one, next to those with a meaning here. */
const ADJACENT = ['type', 'delta', 'usage', 'context_management', 'input_transformations'];

/** Decodes the events of one message. */
const createMessageReader = (request: GenerationRequest) => {
  const blocks = createBlockReader(request);
  const { writer } = blocks;
  let id: string | undefined;
  let usage: WireUsage = {};
  let reason: FinishReason | undefined;

  const open = (message: Json | undefined) => {
    const messageId = asString(message?.id);
    assertSameMessage(id, messageId);
    id ??= messageId;
    usage = mergeUsage(usage, readUsage(message?.usage));
    writer.start(decodeUsage(usage), startMembersOf(message ?? {}).extras);
  };

  return {
    writer,
    /** Whether a stop_reason has been read. */
    hasReason: () => reason !== undefined,
    read(event: Json) {
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
          reason = decodeFinishReason(endOf(event), membersBeyond(event, ADJACENT)) ?? reason;
          return undefined;
        case 'error':
          throw new UpstreamError('error-event', 'the upstream sent an error', { sent: event });
        case 'ping':
        case undefined:
          return undefined;
        default:
          return writer.aside({ protocol: NAME, fields: event });
      }
    },
    finish(stop: Json = {}) {
      if (!reason) throw new UpstreamError('truncated', 'the stream ended without a stop_reason');
      blocks.stopAll();
      writer.finish(withStop(reason, membersBeyond(stop, ['type'])), decodeUsage(usage));
    },
  };
};

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const message = createMessageReader(request);
  const { writer } = message;

  const conclude = (stop?: Json): GenerationEvent[] => {
    if (!writer.isFinished()) message.finish(stop);
    return writer.drain();
  };

  return {
    hasReason: message.hasReason,
    push: ({ data }) => {
      // Some upstreams keep the connection alive with empty events.
      if (writer.isFinished() || data.trim() === '') return [];
      // Some proxies append the chat protocol's `[DONE]`.
      if (data.trim() === '[DONE]') return conclude();
      // After a stop_reason, a truncated event loses no content.
      const event = message.hasReason() ? readJsonObject(data) : parseUpstreamJson(data);
      if (!event || event.type === 'message_stop') return conclude(event);
      message.read(event);
      return writer.drain();
    },
    end: () => conclude(),
  };
};
