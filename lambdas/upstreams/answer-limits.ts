import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { AnswerLimits } from './upstream.ts';

// --- time: the deadlines of one attempt ---

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
