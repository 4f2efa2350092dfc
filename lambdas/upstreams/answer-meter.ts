import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { AnswerLimits } from './upstream.ts';

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
