import { UpstreamError } from '../protocols/upstream-error.ts';
import type { Clock } from '../support/clock.ts';

/** A TCP and TLS handshake across the world takes well under a second. */
export const CONNECT_MS = 3_000;
/** Between two chunks; upstreams that think send a sign of life more often. */
const IDLE_MS = 60_000;

const FIRST_EVENT_BASE_MS = 30_000;
const FIRST_EVENT_MS_PER_BLOCK = 1_000;
const BLOCK_BYTES = 32 * 1024;
const FIRST_EVENT_MAX_MS = 120_000;

/** How long an upstream may take to begin its answer: long prompts take long to read. */
export const firstEventMs = (bodyBytes: number, override: number | undefined): number =>
  override ??
  Math.min(
    FIRST_EVENT_BASE_MS + Math.floor(bodyBytes / BLOCK_BYTES) * FIRST_EVENT_MS_PER_BLOCK,
    FIRST_EVENT_MAX_MS,
  );

/** Passes `chunks` on and calls `expire` when the next one takes longer than a minute. */
export async function* withIdleLimit<T>(
  chunks: AsyncIterator<T>,
  clock: Clock,
  expire: (fault: UpstreamError) => void,
): AsyncGenerator<T, void, void> {
  try {
    for (;;) {
      // Only waiting counts: a slow reader on our side is not the upstream's silence.
      const cancel = clock.after(IDLE_MS, () =>
        expire(new UpstreamError('idle-timeout', `no bytes for ${IDLE_MS} ms`)),
      );
      const next = await chunks.next().finally(cancel);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
}
