import { secondsIn } from './duration.ts';

/** A number in a header, with or without a fraction. */
export const NUMBER = /^\d{1,9}(?:\.\d{1,9})?$/;

/** An HTTP date, each of which starts with a weekday, or RFC 3339; without the check Date.parse reads `-1` as a year. */
const TIME = /^(?:[A-Z][a-z]{2}|\d{4}-\d\d-\d\dT)/;
const instantIn = (text: string): number => (TIME.test(text) ? Date.parse(text) : Number.NaN);

/** A Retry-After header, in seconds, as a duration or as a time; undefined if it is invalid or absent. */
export const retryAfterSeconds = (value = '', now: number): number | undefined => {
  const text = value.trim();
  if (NUMBER.test(text)) return Number(text);
  const instant = instantIn(text);
  return instant ? Math.max(0, Math.ceil((instant - now) / 1000)) : secondsIn(text);
};

const SECONDS = /^\d{1,13}(?:\.\d{1,20})?$/;
/** A number from here on is a time: in seconds since the epoch, or in milliseconds (OpenRouter). */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e12;

/** When a limit has room again (ms): a time, or a duration from now. */
export const resetIn = (value = '', now: number): number | undefined => {
  const seconds = SECONDS.test(value) ? Number(value) : secondsIn(value);
  if (seconds === undefined) return instantIn(value) || undefined;
  if (seconds >= EPOCH_MS) return seconds;
  return seconds * 1_000 + (seconds < EPOCH_SECONDS ? now : 0);
};

/** `Please try again in 7m12.5s` of OpenAI and Groq, `Please retry after 1 second` of Azure, `Please retry in 22.1s` of Google. */
const ASKED =
  /\b(?:try again|retry|wait)(?: in| after| for)? ((?:\d{1,9}(?:\.\d{1,12})? ?(?:ms|[smhd]|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)(?![a-z]) ?){1,5})/i;

/** Seconds that a provider's sentence asks to wait. */
export const secondsAsked = (sentence: string): number | undefined =>
  secondsIn(ASKED.exec(sentence)?.[1]?.trim() ?? '');
