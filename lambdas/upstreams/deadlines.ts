import { UpstreamError } from '../protocols/upstream-error.ts';
import type { Clock } from '../support/clock.ts';
import type { Chunks } from './response-body.ts';

/** Connect timeout; an intercontinental TCP and TLS handshake takes under a second. */
export const CONNECT_MS = 3_000;
/** Timeout between two chunks; upstreams send pings more often while a model thinks. */
const IDLE_MS = 60_000;
/** Wait after a finish reason for usage and the end of the stream; some upstreams send neither. */
export const GOODBYE_MS = 2_000;

const FIRST_EVENT_BASE_MS = 30_000;
const FIRST_EVENT_MS_PER_BLOCK = 1_000;
const BLOCK_BYTES = 32 * 1024;
const FIRST_EVENT_MAX_MS = 120_000;

/** Timeout of the first content; it grows with the prompt, which takes time to process. */
export const firstEventMs = (bodyBytes: number, override: number | undefined): number =>
  override ??
  Math.min(
    FIRST_EVENT_BASE_MS + Math.floor(bodyBytes / BLOCK_BYTES) * FIRST_EVENT_MS_PER_BLOCK,
    FIRST_EVENT_MAX_MS,
  );

/** Reads `chunks`; calls `expire` when the next one takes longer than 60 s. */
export const withIdleLimit = (
  chunks: Chunks,
  clock: Clock,
  expire: (error: UpstreamError) => void,
): Chunks => ({
  // Only the wait for the upstream counts, not a slow reader downstream.
  next: async () => {
    const cancel = clock.after(IDLE_MS, () =>
      expire(new UpstreamError('idle-timeout', `no bytes for ${IDLE_MS} ms`)),
    );
    try {
      return await chunks.next();
    } finally {
      cancel();
    }
  },
});
