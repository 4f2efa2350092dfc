import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { isContent } from '../protocols/streams/event-writer.ts';
import type { Clock } from '../support/clock.ts';
import { type BodyReader, createReader, isFinished } from './body-reader.ts';
import { closing, type UpstreamResponse } from './post.ts';
import {
  type AnswerMeter,
  type Chunks,
  createAnswerMeter,
  GOODBYE_MS,
  type Wait,
} from './response-body.ts';
import type { EventBatches, UpstreamCall } from './upstream.ts';

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
      let next: IteratorResult<Uint8Array, void>;
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
