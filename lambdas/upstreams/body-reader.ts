import { createJsonFrame } from '../protocols/bytes/frame.ts';
import { asRecord, parseUpstreamText } from '../protocols/bytes/json.ts';
import type { BlockHead, GenerationEvent } from '../protocols/generation.ts';
import type { StreamDecoder } from '../protocols/protocol.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { createSseReader, type SseEvent } from '../protocols/streams/sse.ts';
import type { AnswerMeter } from './response-body.ts';
import type { UpstreamCall } from './upstream.ts';

/** One whole JSON response; the largest model output of the catalog is far below. */
const MAX_JSON_BYTES = 16_000_000;
/** One event; images are sent in events of a few megabytes. */
const MAX_EVENT_BYTES = 5_000_000;

/** Decodes one body, chunk by chunk. @throws UpstreamError if it is too large or malformed */
export type BodyReader = {
  push(chunk: Uint8Array): GenerationEvent[];
  /** The bytes ended: returns the events of a last message that is not terminated. */
  flush(): GenerationEvent[];
  /** Called after `flush` unless that finished the response. @throws UpstreamError if it is incomplete */
  end(): GenerationEvent[];
  /** Whether the body contains its own end, so that a connection error after it does not matter. */
  endsItself(): boolean;
  /** Whether a finish reason has been read, so that only usage may follow. */
  hasReason(): boolean;
};

export const isFinished = (events: GenerationEvent[]): boolean => events.at(-1)?.type === 'finish';

const isProse = ({ type }: BlockHead): boolean => type === 'text' || type === 'thinking';

/**
 * Decodes the texts of a stream without parsing each message: most differ from the one before in the text of a
 * block only, and change nothing else in the decoder. Arguments of tools are left to it, since it collects them.
 */
export const withFrame = (decoder: StreamDecoder): StreamDecoder => {
  const frame = createJsonFrame();
  const prose = new Set<number>();
  let index = 0;
  let isRelayed = false;

  const learn = (data: string, events: GenerationEvent[]) => {
    for (const event of events) {
      if (event.type === 'block-start' && isProse(event.block)) prose.add(event.index);
    }
    const [only, another] = events;
    if (another || only?.type !== 'block-delta' || !prose.has(only.index)) return frame.forget();
    index = only.index;
    isRelayed = only.received !== undefined;
    const place = frame.learn(data, only.delta);
    if (only.received) only.received.place = place;
  };

  return {
    push: (message) => {
      const { data } = message;
      const place = frame.read(data);
      if (place && place.string !== '') {
        const { string: delta } = place;
        if (!isRelayed) return [{ type: 'block-delta', index, delta }];
        return [{ type: 'block-delta', index, delta, received: { data, count: 1, place } }];
      }
      const events = decoder.push(message);
      learn(data, events);
      return events;
    },
    end: decoder.end,
    hasReason: decoder.hasReason,
    known: decoder.known,
  };
};

type Add = (events: GenerationEvent[], event: GenerationEvent) => void;

const addEach: Add = (events, event) => {
  events.push(event);
};

/** For a response that is collected: a delta is joined to the one before it. */
const addJoined: Add = (events, event) => {
  const last = events.at(-1);
  const isDelta = event.type === 'block-delta' && last?.type === 'block-delta';
  if (isDelta && last.index === event.index) last.delta += event.delta;
  else events.push(event);
};

const createStreamReader = (
  { protocol, request, heard }: UpstreamCall,
  meter: AnswerMeter,
): BodyReader => {
  const decoder = withFrame(protocol.streamDecoder(request));
  if (heard) heard.usage = decoder.known;
  const stream = createSseReader();
  const add = request.stream ? addEach : addJoined;
  // Loops, since `flatMap` takes several times as long for the one or two events of a message.
  const decode = (messages: SseEvent[]): GenerationEvent[] => {
    const decoded: GenerationEvent[] = [];
    for (const message of messages) {
      meter.message(message.data);
      for (const event of decoder.push(message)) add(decoded, event);
      // What follows the end is not part of the response.
      if (isFinished(decoded)) break;
    }
    return decoded;
  };
  let unfinishedBytes = 0;
  return {
    push: (chunk) => {
      // Counted before parsing: the parser buffers an event until it is complete.
      unfinishedBytes += chunk.byteLength;
      if (unfinishedBytes > MAX_EVENT_BYTES) {
        throw new UpstreamError('malformed', 'an event over 5 MB');
      }
      const messages = stream.push(chunk);
      if (messages.length > 0) unfinishedBytes = 0;
      return decode(messages);
    },
    flush: () => decode(stream.end()),
    end: () => decoder.end(),
    endsItself: () => true,
    hasReason: decoder.hasReason,
  };
};

const createJsonReader = ({ protocol, request, heard }: UpstreamCall): BodyReader => {
  const parts: Uint8Array[] = [];
  let size = 0;
  const read = () => Buffer.concat(parts, size).toString('utf8');
  return {
    push: (chunk) => {
      size += chunk.byteLength;
      if (size > MAX_JSON_BYTES) throw new UpstreamError('malformed', 'the response is over 16 MB');
      parts.push(chunk);
      return [];
    },
    flush: () => [],
    end: () => {
      const text = read();
      const body = parseUpstreamText(text);
      // Billed by its provider also if it cannot be decoded, or has no content.
      const usage = protocol.usageIn(asRecord(body) ?? {});
      if (heard && usage) Object.assign(heard, { usage, isFinal: true });
      return protocol.decodeResponse(body, request, text);
    },
    endsItself: () => false,
    hasReason: () => false,
  };
};

export const STREAM_TYPE = 'text/event-stream';

/** A field of an event, or a comment. Six characters show it. */
const EVENT = /^(?:data|event|id|retry)?:/;
const EVENT_CHARACTERS = 6;

/**
 * Reads a body as what it begins as: some servers send a stream as JSON or text, or without a type, and an error as a stream.
 * @throws UpstreamError on `push` or `flush` for a body that is neither JSON nor a stream
 */
export const createReader = (type: string, call: UpstreamCall, meter: AnswerMeter): BodyReader => {
  let reader: BodyReader | undefined;
  let begun: Uint8Array = new Uint8Array();

  const choose = (start: string): BodyReader => {
    if (/^[{[]/.test(start)) return createJsonReader(call);
    if (type === STREAM_TYPE || EVENT.test(start)) return createStreamReader(call, meter);
    throw new UpstreamError('malformed', `neither JSON nor a stream, content-type ${type}`);
  };
  const read = (chunk: Uint8Array, least: number): GenerationEvent[] => {
    if (reader) return reader.push(chunk);
    const bytes = Buffer.concat([begun, chunk]);
    const start = bytes.toString().trimStart();
    // Blanks keep a connection alive, for any time.
    begun = start === '' ? begun : bytes;
    if (start.length < least) return [];
    reader = choose(start);
    return reader.push(bytes);
  };

  return {
    push: (chunk) => read(chunk, EVENT_CHARACTERS),
    flush: () => [...read(new Uint8Array(), 0), ...(reader?.flush() ?? [])],
    end: () => reader?.end() ?? [],
    endsItself: () => reader?.endsItself() === true,
    hasReason: () => reader?.hasReason() === true,
  };
};
