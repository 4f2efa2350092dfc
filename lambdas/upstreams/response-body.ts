import { parseSse } from '../protocols/sse.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';

/** An answer in one piece; the largest model output of the catalog is far below. */
const MAX_JSON_BYTES = 16_000_000;
/** One event; images come in events of a few megabytes. */
const MAX_EVENT_BYTES = 5_000_000;
/** What is read of a refusal: enough to see what it means. */
const MAX_REFUSAL_BYTES = 64 * 1024;

type Chunks = AsyncIterable<Uint8Array>;

/** @throws UpstreamError when the body is too large or not JSON. */
export const readJson = async (chunks: Chunks): Promise<unknown> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > MAX_JSON_BYTES) throw new UpstreamError('malformed', 'the answer is over 16 MB');
    parts.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(parts, size).toString('utf8'));
  } catch (cause) {
    throw new UpstreamError('malformed', 'the answer is not JSON', { cause });
  }
};

/** The first 64 KB of a refusal, as text. */
export const readErrorBody = async (chunks: Chunks): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    size += chunk.byteLength;
    if (size >= MAX_REFUSAL_BYTES) break;
  }
  return Buffer.concat(parts).toString('utf8', 0, MAX_REFUSAL_BYTES);
};

/** @throws UpstreamError when one event grows over 5 MB: the parser would hold all of it. */
export async function* readEvents(chunks: Chunks): ReturnType<typeof parseSse> {
  let unfinished = 0;
  const count = async function* () {
    for await (const chunk of chunks) {
      unfinished += chunk.byteLength;
      if (unfinished > MAX_EVENT_BYTES) throw new UpstreamError('malformed', 'an event over 5 MB');
      yield chunk;
    }
  };
  for await (const messages of parseSse(count())) {
    if (messages.length > 0) unfinished = 0;
    yield messages;
  }
}
