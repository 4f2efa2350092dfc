import { type Frame, frameAround } from '../bytes/frame.ts';
import { asString, type Json, parseUpstreamJson, readJsonObject } from '../bytes/json.ts';
import { type Edit, spliceText } from '../bytes/splice.ts';
import type { GenerationEvent, GenerationRequest, Received, Usage } from '../generation.ts';
import { assertNoError, type EventEncoder, type StreamDecoder } from '../protocol.ts';
import type { ProtocolName } from '../protocol-name.ts';
import { type EventWriter, withBody } from './event-writer.ts';
import type { SseEvent, SseMessage } from './sse.ts';

/** A message of the upstream's, parsed, with what it was decoded to and what the encoder writes for that. */
export type Decoded = {
  data: string;
  value: Json | undefined;
  events: GenerationEvent[];
  encoded: SseMessage[];
};

/**
 * Edits the messages of one stream for a caller of the upstream's protocol. Returns what is sent for a message; undefined if
 * its form is one that the encoder must put right.
 */
export type Relay = (decoded: Decoded) => SseMessage[] | undefined;

/** A received message with edits; messages of the protocol are named by their `type`. */
export const edited = (data: string, edits: readonly Edit[], event?: unknown): SseEvent => {
  const name = asString(event);
  return { ...(name !== undefined && { event: name }), data: spliceText(data, edits) };
};

/** Gives the events of a message, or one that shows nothing, the message. */
export const received = (events: GenerationEvent[], data: string, value: Json | undefined) => {
  const all: GenerationEvent[] = events.length === 0 ? [{ type: 'aside' }] : events;
  const message: Received = { data, value, count: all.length };
  for (const event of all) event.received = message;
  return all;
};

/** Edits the messages of one frame as the first of them was edited. */
const createFramedEdits = () => {
  let known: Frame | undefined;
  let around: Frame | undefined;
  let event: string | undefined;
  return {
    learn: ({ data, place }: Received, sent: SseMessage[]) => {
      const [only, another] = sent;
      known = undefined;
      if (!place || !only || another || !('data' in only)) return;
      around = frameAround(only.data, data.slice(place.start, place.end));
      if (around) ({ frame: known } = place);
      event = only.event;
    },
    /** Undefined for a message of another frame. */
    send: ({ data, place }: Received): SseEvent | undefined => {
      if (!place || !around || place.frame !== known) return undefined;
      const { start, end, frame } = place;
      const rest = data.slice(end + frame.tail.length);
      const text = around.head + data.slice(start, end) + around.tail + rest;
      return event === undefined ? { data: text } : { event, data: text };
    },
  };
};

/**
 * Sends what the upstream sent, with edits, and keeps the encoder ready: from an event that was not received, such as the
 * end at a deadline, or a message in a form that the relay does not know, the encoder writes the rest of the stream.
 */
export const relaying = (encoder: EventEncoder, relay: Relay): EventEncoder => {
  const framed = createFramedEdits();
  /** Blocks whose start the encoder has written, so that it need not write their deltas. */
  const begun = new Set<number>();
  let waiting: GenerationEvent[] = [];
  /** What the encoder wrote for messages that the relay holds back. */
  const held: SseMessage[] = [];
  let isRelaying = true;

  const encodeAll = (events: GenerationEvent[]): SseMessage[] => events.flatMap(encoder.push);

  const takeOver = (encoded: SseMessage[]): SseMessage[] => {
    isRelaying = false;
    return [...held, ...encoded];
  };

  /** Tells the encoder that a block of prose has begun: it waits for the first delta otherwise. */
  const begin = (events: GenerationEvent[]) => {
    for (const event of events) {
      if (event.type !== 'block-start') continue;
      const { index, block } = event;
      const isProse = block.type === 'text' || (block.type === 'thinking' && !block.redacted);
      if (!isProse) continue;
      encoder.push({ type: 'block-delta', index, delta: '' });
      begun.add(index);
    }
  };

  const isKnownDelta = ([first, second]: GenerationEvent[]): boolean => {
    if (first?.type !== 'block-delta' || second) return false;
    const isKnown = begun.has(first.index);
    begun.add(first.index);
    return isKnown;
  };

  const relayMessage = (message: Received, events: GenerationEvent[]): SseMessage[] => {
    const isDelta = isKnownDelta(events);
    const encoded = isDelta ? [] : encodeAll(events);
    const value = message.value ?? readJsonObject(message.data);
    const sent = relay({ data: message.data, value, events, encoded });
    const written = () => (isDelta ? encodeAll(events) : encoded);
    if (!sent) return takeOver(written());
    if (sent.length === 0) held.push(...written());
    if (!isDelta) begin(events);
    framed.learn(message, sent);
    return sent;
  };

  const push = (event: GenerationEvent): SseMessage[] => {
    const { received: message } = event;
    if (!isRelaying) return encoder.push(event);
    if (!message) return takeOver(encodeAll([...waiting, event]));
    const sent = framed.send(message);
    if (sent) return [sent];
    waiting.push(event);
    if (waiting.length < message.count) return [];
    const events = waiting;
    waiting = [];
    return relayMessage(message, events);
  };
  return { push };
};

/** How the messages of a protocol's stream are read. */
export type StreamReader = {
  hasReason(): boolean;
  /** Where the events are written. */
  writer: Pick<EventWriter, 'isFinished' | 'drain'>;
  /** Writes the events of a message. @throws UpstreamError */
  read(message: Json): void;
  /** Writes the last events. @throws UpstreamError when the response has no end, with the `last` message, which may be an error */
  finish(last?: Json): void;
  /** Whether a message says no more than that the stream is over. */
  isEnd?(message: Json): boolean;
  known: Partial<Usage>;
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
  { hasReason, writer, read, finish, isEnd, known }: StreamReader,
  caller: ReturnType<typeof ownCaller>,
  { relay, createSum }: OwnForm = { relay: received },
): StreamDecoder => {
  const relayed: OwnForm['relay'] = caller === 'stream' ? relay : (events) => events;
  const sum = caller === 'whole' ? createSum?.() : undefined;

  let last: Json | undefined;

  const written = (data: string, message?: Json): GenerationEvent[] => {
    const events = writer.drain();
    const isWhole = sum && writer.isFinished();
    return relayed(isWhole ? withBody(events, { value: sum.value() }) : events, data, message);
  };
  const conclude = (data: string, message?: Json): GenerationEvent[] => {
    if (writer.isFinished()) return [];
    finish(last);
    return written(data, message);
  };

  return {
    hasReason,
    known,
    push: ({ data }) => {
      const text = data.trim();
      // Some upstreams keep the connection alive with empty events.
      if (writer.isFinished() || text === '') return [];
      if (text === '[DONE]') return conclude(data);
      const message = hasReason() ? readJsonObject(data) : parseUpstreamJson(data);
      if (!message || isEnd?.(message)) return conclude(data, message);
      assertNoError(message);
      last = message;
      read(message);
      sum?.add(message);
      return written(data, message);
    },
    end: () => conclude(''),
  };
};
