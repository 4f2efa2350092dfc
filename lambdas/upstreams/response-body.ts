import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { joinBytes } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import type { AnswerLimits } from './upstream.ts';

// --- time: the deadlines of one attempt ---

/** Connect timeout; an intercontinental TCP and TLS handshake takes under a second. */
export const CONNECT_MS = 3_000;

/** How long a read may wait for the upstream, and the message of its error. */
export type Wait = { ms: number; message: string };

const IDLE_MS = 60_000;
/** Between two chunks; upstreams send pings more often while a model thinks. */
const IDLE: Wait = { ms: IDLE_MS, message: `no bytes for ${IDLE_MS} ms` };

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

// --- size ---

/** JSON around the content of one message: ids, model, usage. */
const USUAL_OVERHEAD = 1_024;

const HIGH_SURROGATE_AT_END = /[\ud800-\udbff]$/;

/** The first `length` units of a text, without half of a surrogate pair at the end. */
const cut = (text: string, length: number): string =>
  text.slice(0, length).replace(HIGH_SURROGATE_AT_END, '');

export type AnswerMeter = ReturnType<typeof createAnswerMeter>;

const outputLimit = (what: string): UpstreamError =>
  new UpstreamError('output-limit', `the response has more ${what} than the request allows`);

/** Counts what one response holds, so that an endless one ends before it fills the memory. */
export const createAnswerMeter = (limits: AnswerLimits) => {
  let { characters, messages, overhead } = limits;
  /** Counts text; returns the events within the limit. */
  const within = (events: GenerationEvent[]): GenerationEvent[] => {
    for (const event of events) {
      if (event.type !== 'block-delta') continue;
      const { delta } = event;
      if (delta.length > characters) {
        const rest = cut(delta, characters);
        characters = -1;
        // A delta without text is not a legal event of every protocol.
        return [
          ...events.slice(0, events.indexOf(event)),
          ...(rest === '' ? [] : [{ ...event, delta: rest }]),
        ];
      }
      characters -= delta.length;
    }
    return events;
  };
  return {
    /** Counts a message. @throws UpstreamError `output-limit` */
    message: (data: string): void => {
      messages -= 1;
      overhead -= Math.max(0, data.length - USUAL_OVERHEAD);
      if (messages < 0) throw outputLimit('messages');
      if (overhead < 0) throw outputLimit('data');
    },
    within,
    /** @throws UpstreamError `output-limit` once `within` left something out */
    assertLeft: (): void => {
      if (characters < 0) throw outputLimit('text');
    },
  };
};

/** The bytes of a response, in pieces of any size. */
export type Chunks = {
  /**
   * Waits for the upstream only as long as it may; a slow reader does not count.
   * @default the idle limit
   */
  next(wait?: Wait): Promise<IteratorResult<Buffer, void>>;
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
  let reader: PromiseWithResolvers<IteratorResult<Buffer, void>> | undefined;
  let cancelWait = () => {};

  const take = (): Buffer => {
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
      const next = Promise.withResolvers<IteratorResult<Buffer, void>>();
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

/** For the rest of a body whose status alone tells what to do next. */
const SHORT_BODY_MS = 5_000;

/**
 * Returns the first 64 KB of a body, as text; of one that stalls or whose connection breaks what came of it.
 * @throws UpstreamError at the end of the call
 */
export const readShortBody = async (chunks: Chunks, clock: Clock): Promise<string> => {
  const parts: Buffer[] = [];
  let size = 0;
  const late = Promise.withResolvers<typeof DONE>();
  const cancelLate = clock.after(SHORT_BODY_MS, () => late.resolve(DONE));
  try {
    while (size < MAX_SHORT_BYTES) {
      const next = chunks.next().catch((error) => {
        if (error instanceof UpstreamError) throw error;
        return DONE;
      });
      const { value } = await Promise.race([next, late.promise]);
      if (!value) break;
      parts.push(value);
      size += value.byteLength;
    }
  } finally {
    cancelLate();
  }
  return Buffer.concat(parts).toString('utf8', 0, MAX_SHORT_BYTES);
};
