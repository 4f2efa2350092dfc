import { Readable } from 'node:stream';
import { formatSse, type MessageBatches, type SseMessage } from '../protocols/sse.ts';

async function* format(
  batches: MessageBatches,
  onFailure: (error: unknown) => SseMessage[],
): AsyncGenerator<string, void, void> {
  try {
    for await (const batch of batches) {
      if (batch.length > 0) yield batch.map(formatSse).join('');
    }
  } catch (error) {
    // On Lambda an error thrown after the headers ends the whole process.
    yield onFailure(error).map(formatSse).join('');
  }
}

/**
 * A body of Server-Sent Events, one write a batch. It never errors: what `batches` throws becomes the
 * tail that `onFailure` returns. However it ends, and when `signal` aborts, `batches` runs its `finally`.
 */
export const eventStream = (
  batches: MessageBatches,
  signal: AbortSignal,
  onFailure: (error: unknown) => SseMessage[],
): Readable => {
  const texts = format(batches, onFailure);
  // Started at once: a generator that never ran skips its `finally`, and a client may be gone before
  // the first read. No `throw` is passed on either, as a lost client is not a fault of the source.
  let first: Promise<IteratorResult<string, void>> | undefined = texts.next();
  const source: AsyncIterable<string, void, void> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const next = first ?? texts.next();
        first = undefined;
        return next;
      },
      return: () => texts.return(),
    }),
  };
  const body = Readable.from(source, { objectMode: false });
  // A pipeline into a response that has closed already throws and leaves its source as it is.
  if (signal.aborted) body.destroy();
  signal.addEventListener('abort', () => body.destroy(), { once: true });
  return body;
};
