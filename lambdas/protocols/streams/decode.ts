import { type Json, parseUpstreamJson, readJsonObject } from '../bytes/json.ts';
import type { GenerationEvent, GenerationRequest } from '../generation.ts';
import type { StreamDecoder } from '../protocol.ts';
import type { ProtocolName } from '../protocol-name.ts';
import { type EventWriter, withBody } from './event-writer.ts';
import { received } from './relay.ts';

/** How the messages of a protocol's stream are read. */
export type StreamReader = {
  hasReason(): boolean;
  /** Where the events are written. */
  writer: Pick<EventWriter, 'isFinished' | 'drain'>;
  /** Writes the events of a message. @throws UpstreamError */
  read(message: Json): void;
  /** Writes the last events. @throws UpstreamError when the response has no end */
  finish(): void;
  /** Whether a message says no more than that the stream is over. */
  isEnd?(message: Json): boolean;
};

/** What a caller of the stream's own protocol gets: each message as it was received, or a whole response. */
type OwnForm = {
  relay(events: GenerationEvent[], data: string, message: Json | undefined): GenerationEvent[];
  /** Adds the messages up. */
  createSum?(): { add(message: Json): void; value(): Json };
};

/** Whether the response is for a caller of `protocol`, as a stream or whole. */
export const ownCaller = (
  { extras, stream }: GenerationRequest,
  protocol: ProtocolName,
): 'stream' | 'whole' | undefined => {
  if (extras.protocol !== protocol) return undefined;
  return stream ? 'stream' : 'whole';
};

/** Decodes a stream up to its end, `[DONE]`, or a message cut off behind its reason, which loses no content. */
export const createStreamDecoder = (
  { hasReason, writer, read, finish, isEnd }: StreamReader,
  caller: ReturnType<typeof ownCaller>,
  { relay, createSum }: OwnForm = { relay: received },
): StreamDecoder => {
  const relayed: OwnForm['relay'] = caller === 'stream' ? relay : (events) => events;
  const sum = caller === 'whole' ? createSum?.() : undefined;

  const written = (data: string, message?: Json): GenerationEvent[] => {
    const events = writer.drain();
    const isWhole = sum && writer.isFinished();
    return relayed(isWhole ? withBody(events, { value: sum.value() }) : events, data, message);
  };
  const conclude = (data: string, message?: Json): GenerationEvent[] => {
    if (writer.isFinished()) return [];
    finish();
    return written(data, message);
  };

  return {
    hasReason,
    push: ({ data }) => {
      const text = data.trim();
      // Some upstreams keep the connection alive with empty events.
      if (writer.isFinished() || text === '') return [];
      if (text === '[DONE]') return conclude(data);
      const message = hasReason() ? readJsonObject(data) : parseUpstreamJson(data);
      if (!message || isEnd?.(message)) return conclude(data, message);
      read(message);
      sum?.add(message);
      return written(data, message);
    },
    end: () => conclude(''),
  };
};
