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
 * Returns a body of Server-Sent Events, one write per batch. It never errors: an error of `batches` becomes
 * the last messages, from `onFailure`. `batches` always runs its `finally`, also when `signal` aborts.
 */
export const eventStream = (
  batches: MessageBatches,
  signal: AbortSignal,
  onFailure: (error: unknown) => SseMessage[],
): Readable => {
  const texts = format(batches, onFailure);
  // Started at once: a generator that never ran skips its `finally`, and the client may disconnect before
  // the first read. `throw` is not passed on: a disconnected client is not an error of the source.
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
  // A pipeline into a closed response throws and does not destroy its source.
  if (signal.aborted) body.destroy();
  signal.addEventListener('abort', () => body.destroy(), { once: true });
  return body;
};
