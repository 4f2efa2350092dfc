import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { joinBytes } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import { IDLE, type Wait } from './answer-limits.ts';

/** The bytes of a response, in pieces of any size. */
export type Chunks = {
  /**
   * Waits for the upstream only as long as it may; a slow reader does not count.
   * @default the idle limit
   */
  next(wait?: Wait): Promise<IteratorResult<Uint8Array, void>>;
};

/** Bytes that wait for the reader before the connection is paused. */
const MAX_WAITING_BYTES = 64 * 1024;

const DONE: IteratorReturnResult<void> = { done: true, value: undefined };

type Connection = Record<'pause' | 'resume', () => void> & {
  clock: Clock;
  /** Called when a wait is over: ends the request, and with it this body. */
  expire(error: UpstreamError): void;
};

/** Holds what arrives until it is read, and stops the upstream while its reader is behind. */
export type ResponseBody = Chunks & {
  push(bytes: Buffer): void;
  end(): void;
  /** The connection broke: what arrived before can still be read. */
  break(error: unknown): void;
  /** Fails the next read, and drops what arrived before. */
  fail(error: unknown): void;
};

export const createResponseBody = ({ pause, resume, clock, expire }: Connection): ResponseBody => {
  let parts: Buffer[] = [];
  let waitingBytes = 0;
  let isPaused = false;
  let ending: { error?: unknown } | undefined;
  let reader: PromiseWithResolvers<IteratorResult<Uint8Array, void>> | undefined;
  let cancelWait = () => {};

  const take = (): Uint8Array => {
    const bytes = joinBytes(parts);
    parts = [];
    waitingBytes = 0;
    if (isPaused) resume();
    isPaused = false;
    return bytes;
  };
  const settle = () => {
    if (!reader) return;
    const { resolve, reject } = reader;
    if (parts.length > 0) resolve({ done: false, value: take() });
    else if (!ending) return;
    else if ('error' in ending) reject(ending.error);
    else resolve(DONE);
    reader = undefined;
    cancelWait();
  };
  const endWith = (how: { error?: unknown }) => {
    ending ??= how;
    settle();
  };

  return {
    push: (bytes) => {
      parts.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes > MAX_WAITING_BYTES && !isPaused) {
        isPaused = true;
        pause();
      }
      settle();
    },
    end: () => endWith({}),
    break: (error) => endWith({ error }),
    fail: (error) => {
      parts = [];
      ending = { error };
      settle();
    },
    next: ({ ms, message } = IDLE) => {
      const next = Promise.withResolvers<IteratorResult<Uint8Array, void>>();
      reader = next;
      settle();
      if (reader === next) {
        cancelWait = clock.after(ms, () => expire(new UpstreamError('idle-timeout', message)));
      }
      return next.promise;
    },
  };
};

/** Enough to classify an error. */
const MAX_SHORT_BYTES = 64 * 1024;

/** Returns the first 64 KB of a body, as text. */
export const readShortBody = async (chunks: Chunks): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  while (size < MAX_SHORT_BYTES) {
    const { value, done } = await chunks.next();
    if (done) break;
    parts.push(value);
    size += value.byteLength;
  }
  return Buffer.concat(parts).toString('utf8', 0, MAX_SHORT_BYTES);
};
