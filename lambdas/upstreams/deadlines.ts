/** Connect timeout; an intercontinental TCP and TLS handshake takes under a second. */
export const CONNECT_MS = 3_000;

/** How long a read may wait for the upstream, and the message of its error. */
export type Wait = { ms: number; message: string };

const IDLE_MS = 60_000;
/** Between two chunks; upstreams send pings more often while a model thinks. */
export const IDLE: Wait = { ms: IDLE_MS, message: `no bytes for ${IDLE_MS} ms` };

/** After a finish reason, for usage and the end of the stream; some upstreams send neither. */
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
