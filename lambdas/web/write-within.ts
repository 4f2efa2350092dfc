import type { ServerResponse } from 'node:http';
import type { Clock } from '../support/clock.ts';

/** What a reader may take over the first bytes of a write. */
const STALL_MS = 60_000;
/** Slower than any line that is in use (16 KB a second); a whole answer is one write of up to megabytes. */
const MIN_BYTES_PER_MS = 16;

/**
 * Writes to a client and calls back when the bytes have left. A client that stops reading holds its answer
 * back, and with it the upstream; after a minute it is taken for one that has left.
 */
export const writeWithin = (
  response: ServerResponse,
  chunk: Buffer,
  { clock, callback }: { clock: Clock; callback: (error?: Error | null) => void },
): void => {
  const limitMs = STALL_MS + chunk.byteLength / MIN_BYTES_PER_MS;
  const cancel = clock.after(limitMs, () => response.destroy());
  response.once('close', cancel);
  response.write(chunk, (error) => {
    cancel();
    response.off('close', cancel);
    callback(error);
  });
};
