import { asRecord, parseUpstreamText } from '../protocols/bytes/json.ts';
import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { isContent } from '../protocols/streams/event-writer.ts';
import { createSseReader, type SseEvent, withFrame } from '../protocols/streams/sse.ts';
import { joinBytes } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import { closing, type UpstreamResponse } from './post.ts';
import {
  type AnswerMeter,
  type Chunks,
  createAnswerMeter,
  GOODBYE_MS,
  type Wait,
} from './response-body.ts';
import type { EventBatches, UpstreamCall } from './upstream.ts';

/** One whole JSON response; the largest model output of the catalog is far below. */
const MAX_JSON_BYTES = 16_000_000;
/** One event; images are sent in events of a few megabytes. */
const MAX_EVENT_BYTES = 5_000_000;

/** Decodes one body, chunk by chunk. @throws UpstreamError if it is too large or malformed */
type BodyReader = {
  push(chunk: Buffer): GenerationEvent[];
  /** The bytes ended: returns the events of a last message that is not terminated. */
  flush(): GenerationEvent[];
  /** Called after `flush` unless that finished the response. @throws UpstreamError if it is incomplete */
  end(): GenerationEvent[];
  /** Whether the body contains its own end, so that a connection error after it does not matter. */
  endsItself(): boolean;
  /** Whether a finish reason has been read, so that only usage may follow. */
  hasReason(): boolean;
};

const isFinished = (events: GenerationEvent[]): boolean => events.at(-1)?.type === 'finish';

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
  { protocol, request, heard, target }: UpstreamCall,
  meter: AnswerMeter,
): BodyReader => {
  const decoder = withFrame(protocol.streamDecoder(request, target.profile));
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

const createJsonReader = ({ protocol, request, heard, target }: UpstreamCall): BodyReader => {
  const parts: Buffer[] = [];
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
      return protocol.decodeResponse(body, request, text, target.profile);
    },
    endsItself: () => false,
    hasReason: () => false,
  };
};

export const STREAM_TYPE = 'text/event-stream';

/** A field of an event, or a comment. Six characters show it. */
const EVENT = /^(?:data|event|id|retry)?:/;
const EVENT_CHARACTERS = 6;
/** Bytes that have as many characters, unless many blanks are before them. */
const SAMPLE = 64;

const startOf = (bytes: Buffer): string => {
  const start = bytes.toString('utf8', 0, SAMPLE).trimStart();
  return start.length < EVENT_CHARACTERS ? bytes.toString().trimStart() : start;
};

/**
 * Reads a body as what it begins as: some servers send a stream as JSON or text, or without a type, and an error as a stream.
 * @throws UpstreamError on `push` or `flush` for a body that is neither JSON nor a stream
 */
const createReader = (type: string, call: UpstreamCall, meter: AnswerMeter): BodyReader => {
  let reader: BodyReader | undefined;
  let begun: Buffer[] = [];

  const choose = (start: string): BodyReader => {
    if (/^[{[]/.test(start)) return createJsonReader(call);
    if (type === STREAM_TYPE || EVENT.test(start)) return createStreamReader(call, meter);
    throw new UpstreamError('malformed', `neither JSON nor a stream, content-type ${type}`);
  };
  const read = (chunk: Buffer, least: number): GenerationEvent[] => {
    if (reader) return reader.push(chunk);
    const bytes = joinBytes([...begun, chunk]);
    const start = startOf(bytes);
    // Blanks keep a connection alive, for any time.
    begun = start === '' ? begun : [bytes];
    if (start.length < least) return [];
    reader = choose(start);
    return reader.push(bytes);
  };

  return {
    push: (chunk) => read(chunk, EVENT_CHARACTERS),
    flush: () => [...read(Buffer.alloc(0), 0), ...(reader?.flush() ?? [])],
    end: () => reader?.end() ?? [],
    endsItself: () => reader?.endsItself() === true,
    hasReason: () => reader?.hasReason() === true,
  };
};

/**
 * Limits the wait after a finish reason to 2 s over all chunks, so that pings do not prolong it. Content
 * restarts it, because some upstreams send a finish reason too early.
 */
const createGoodbye = (reader: BodyReader, clock: Clock) => {
  let until: number | undefined;
  return {
    wait: (): Wait | undefined => {
      if (!reader.hasReason()) return undefined;
      until ??= clock.now() + GOODBYE_MS;
      const message = `no end within ${GOODBYE_MS} ms of the finish`;
      return { ms: Math.max(0, until - clock.now()), message };
    },
    restart: () => {
      until = undefined;
    },
  };
};

/** The call that a response belongs to. */
type Sent = {
  /** Content has arrived. */
  onContent(): void;
  /** Nothing but the end may follow: the connection is drained for reuse instead of closed. */
  complete(): void;
  /** Releases the connection. Idempotent. */
  close(): void;
  errorOf(error: unknown): unknown;
  clock: Clock;
};

type ReadOptions = { reader: BodyReader; meter: AnswerMeter; sent: Sent };

/**
 * Yields one batch of events per chunk, an empty one included: it shows that the upstream is alive.
 * @throws UpstreamError of the decoder, or the connection error if the body was incomplete
 */
async function* readStream(chunks: Chunks, { reader, meter, sent }: ReadOptions): EventBatches {
  const goodbye = createGoodbye(reader, sent.clock);
  let broken: { error: unknown } | undefined;
  const within = (events: GenerationEvent[]): GenerationEvent[] => {
    const kept = meter.within(events);
    if (kept.some(isContent)) {
      goodbye.restart();
      sent.onContent();
    }
    if (isFinished(kept)) sent.complete();
    return kept;
  };
  try {
    for (;;) {
      let next: IteratorResult<Buffer, void>;
      try {
        next = await chunks.next(goodbye.wait());
      } catch (error) {
        broken = { error };
        break;
      }
      if (next.done) break;
      const events = reader.push(next.value);
      yield within(events);
      meter.assertLeft();
      // Not every upstream closes the connection after its last event.
      if (isFinished(events)) return;
    }
    if (broken && !reader.endsItself()) throw broken.error;
    const rest = reader.flush();
    if (rest.length > 0) yield within(rest);
    meter.assertLeft();
    if (!isFinished(rest)) yield within(reader.end());
    meter.assertLeft();
  } catch (error) {
    throw sent.errorOf(broken?.error ?? error);
  } finally {
    sent.close();
  }
}

/**
 * Reads a 2xx response, streamed or in one piece, whichever the upstream chose. `return` closes its connection at
 * once. @throws UpstreamError for any other content type or encoding
 */
export const readAnswer = (
  { headers, chunks }: Pick<UpstreamResponse, 'headers' | 'chunks'>,
  call: UpstreamCall,
  sent: Sent,
): EventBatches => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() || 'identity';
  // Servers of Next.js say `none`, to keep a proxy from compressing the stream.
  if (encoding !== 'identity' && encoding !== 'none') {
    throw new UpstreamError('malformed', `content-encoding ${encoding} was not requested`);
  }
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? 'is absent';
  const meter = createAnswerMeter(call.limits);
  const reader = createReader(type, call, meter);
  return closing(readStream(chunks, { reader, meter, sent }), sent.close);
};
