import { instantIn, secondsIn } from './duration.ts';

/** A number in a header, with or without a fraction. */
export const NUMBER = /^\d{1,9}(?:\.\d{1,9})?$/;

/** A Retry-After header, in seconds, as a duration or as a time; undefined if it is invalid or absent. */
export const retryAfterSeconds = (value = '', now: number): number | undefined => {
  const text = value.trim();
  if (NUMBER.test(text)) return Number(text);
  const instant = instantIn(text);
  return instant ? Math.max(0, instant - now) / 1_000 : secondsIn(text);
};

/** `Please try again in 7m12.5s` of OpenAI and Groq, `Please retry after 1 second` of Azure, `Please retry in 22.1s` of Google. */
const ASKED =
  /\b(?:try again|retry|wait)(?: in| after| for)? ((?:\d{1,9}(?:\.\d{1,12})? ?(?:ms|[smhd]|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)(?![a-z]) ?){1,5})/i;

/** Seconds that a provider's sentence asks to wait. */
export const secondsAsked = (sentence: string): number | undefined =>
  secondsIn(ASKED.exec(sentence)?.[1]?.trim() ?? '');
