import type { IncomingMessage } from 'node:http';
import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { interpretErrorBody } from '../protocols/upstream-error-body.ts';
import type { Clock } from '../support/clock.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { withIdleLimit } from './deadlines.ts';
import type { Post } from './post.ts';
import { readErrorBody, readEvents, readJson } from './response-body.ts';
import { parseRetryAfter } from './retry-after.ts';
import type { EventBatches, UpstreamCall } from './upstream.ts';

type Chunks = AsyncIterable<Uint8Array>;

/** Statuses of a refusal of the request as such; a 429 may use the words of one for a rate. */
const REFUSING = [400, 413, 422];

/** The body's bytes; a minute without any fails the post. */
export const bytesOf = (response: IncomingMessage, post: Post, clock: Clock): Chunks =>
  withIdleLimit(response.iterator({ destroyOnReturn: false }), clock, post.fail);

/** The fault that a status other than 2xx stands for. */
export const readError = async (
  response: IncomingMessage,
  chunks: Chunks,
  now: number,
): Promise<UpstreamError> => {
  const status = response.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    return new UpstreamError('redirect', 'the upstream redirects', { status });
  }
  const text = await readErrorBody(chunks);
  const refusal = REFUSING.includes(status) ? interpretErrorBody(text) : undefined;
  if (refusal?.kind === 'context-overflow') {
    const { overflow } = refusal;
    return new UpstreamError('context-overflow', 'the prompt is too long', { status, overflow });
  }
  const retryAfterSeconds = parseRetryAfter(response.headers['retry-after'], now);
  return new UpstreamError('status', `the upstream answered ${status}`, {
    status,
    ...omitUndefined({ retryAfterSeconds, refusedFields: refusal?.fields }),
  });
};

async function* readWhole(chunks: Chunks, { protocol, request }: UpstreamCall): EventBatches {
  yield protocol.decodeResponse(await readJson(chunks), request);
}

const endsWithFinish = (events: GenerationEvent[]): boolean => events.at(-1)?.type === 'finish';

/** The same chunks; a connection that breaks ends them, and tells `onBreak` why. */
async function* untilBroken(
  chunks: Chunks,
  onBreak: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* chunks;
  } catch (error) {
    onBreak(error);
  }
}

async function* readStream(chunks: Chunks, { protocol, request }: UpstreamCall): EventBatches {
  const decoder = protocol.streamDecoder(request);
  let broken: { error: unknown } | undefined;
  const readable = untilBroken(chunks, (error) => {
    broken = { error };
  });
  try {
    for await (const messages of readEvents(readable)) {
      const events = messages.flatMap((message) => decoder.push(message));
      yield events;
      // Not every upstream closes after its last event.
      if (endsWithFinish(events)) return;
    }
    // An answer that has said how it ends is whole, whatever becomes of its connection.
    yield decoder.end();
  } catch (error) {
    throw broken ? broken.error : error;
  }
}

/**
 * The events of a 2xx answer, streamed or in one piece, whichever the upstream chose.
 * @throws UpstreamError for any other kind of content.
 */
export const readAnswer = (
  response: IncomingMessage,
  chunks: Chunks,
  call: UpstreamCall,
): EventBatches => {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new UpstreamError('malformed', `content-encoding ${encoding} was not asked for`);
  }
  const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type === 'text/event-stream') return readStream(chunks, call);
  if (type === 'application/json') return readWhole(chunks, call);
  throw new UpstreamError('malformed', `content-type ${type ?? 'is absent'}`);
};
