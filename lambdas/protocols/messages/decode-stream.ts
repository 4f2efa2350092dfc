import { isEmpty } from '../../support/objects.ts';
import { asNumber, asRecord, asString, type Json, readJsonObject } from '../bytes/json.ts';
import type { FinishReason, GenerationRequest, Usage } from '../generation.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createStreamDecoder, ownCaller, received, type StreamReader } from '../streams/relay.ts';
import { decodeFinishReason } from './finish-reason.ts';
import { createBlockReader } from './stream-reader.ts';
import {
  addUse,
  decodeUsage,
  mergeUsage,
  readMessageUsage,
  readUsage,
  type WireUsage,
} from './usage.ts';

/** What two values of a block's member add up to: texts and lists grow, of others the later one counts. */
const summed = (known: unknown, value: unknown): unknown => {
  if (typeof known === 'string' && typeof value === 'string') return known + value;
  return Array.isArray(known) && Array.isArray(value) ? known.concat(value) : value;
};

const addDelta = (block: Json, { type: _, citation, partial_json, ...delta }: Json): void => {
  if (citation !== undefined) delta.citations = [citation];
  if (partial_json !== undefined) delta.input = partial_json;
  for (const [name, value] of Object.entries(delta)) {
    // It would not be a member.
    if (name !== '__proto__') block[name] = summed(block[name], value);
  }
};

/**
 * Adds up the events of a message as clients do, to a whole message with all of its members. The canonical form, which has
 * its texts and the input of calls, is written over it.
 */
const createSum = () => {
  let sum: Json = {};
  const content: Json[] = [];
  /** The latest one of each index. */
  const blocks = new Map<unknown, Json>();

  const start = (index: unknown, block: Json): void => {
    content.push(block);
    blocks.set(index, block);
  };

  /** Of a block that the vendor runs itself; that of a call is in the canonical form. */
  const readInput = (block: Json): void => {
    const text = asString(block.input);
    if (text !== undefined) block.input = readJsonObject(text) ?? {};
  };

  return {
    add: ({ type, index, message, content_block, delta, usage, ...rest }: Json): void => {
      const block = blocks.get(index);
      if (type === 'message_start') sum = { ...asRecord(message), ...sum };
      else if (type === 'content_block_start') start(index, { ...asRecord(content_block) });
      else if (type === 'content_block_delta' && block) addDelta(block, asRecord(delta) ?? {});
      else if (type === 'message_delta') {
        const counts = { ...asRecord(sum.usage), ...asRecord(usage) };
        sum = { ...sum, ...asRecord(delta), ...rest, usage: counts };
      }
    },
    value: (): Json => {
      content.forEach(readInput);
      return { ...sum, content };
    },
  };
};

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
  const known: Partial<Usage> = {};
  let reason: FinishReason | undefined;

  const count = (later: WireUsage): Usage | undefined => {
    usage = mergeUsage(usage, later);
    const counts = decodeUsage(usage);
    const billing = { ...known.billing, ...counts?.billing };
    Object.assign(known, counts, !isEmpty(billing) && { billing });
    return counts;
  };

  const open = (message: Json | undefined) => {
    const messageId = asString(message?.id);
    assertSameMessage(id, messageId);
    id ??= messageId;
    writer.start(count(readMessageUsage(message)));
  };
  const begin = (key: string, block: Json) => {
    addUse(known, block);
    blocks.start(key, block);
  };

  return {
    ...{ writer, known },
    hasReason: () => reason !== undefined,
    read: (event) => {
      switch (event.type) {
        case 'message_start':
          return open(asRecord(event.message));
        case 'content_block_start':
          return begin(keyOf(event), asRecord(event.content_block) ?? {});
        case 'content_block_delta':
          return blocks.append(keyOf(event), asRecord(event.delta) ?? {});
        case 'content_block_stop':
          return blocks.stop(keyOf(event));
        case 'message_delta':
          count(readUsage(event.usage));
          reason = decodeFinishReason(asRecord(event.delta) ?? {}) ?? reason;
          return undefined;
        default:
          return undefined;
      }
    },
    finish: (sent) => {
      if (!reason) throw new UpstreamError('truncated', 'no stop_reason', { sent });
      blocks.stopAll();
      writer.finish(reason, decodeUsage(usage));
    },
    isEnd: ({ type }) => type === 'message_stop',
  };
};

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder =>
  createStreamDecoder(createMessageReader(request), ownCaller(request, 'messages'), {
    ...{ relay: received, createSum },
  });
