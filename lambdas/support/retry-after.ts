/** A number in a header, with or without a fraction. */
export const NUMBER = /^\d{1,9}(?:\.\d{1,9})?$/;

/** `6m0s`, `2m59.56s`, `120ms`, `1d2h`, `30 seconds` */
const DURATION =
  /^(?:\d{1,9}(?:\.\d{1,12})? ?(?:ms|[smhd]|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)(?![a-z]) ?){1,5}$/i;
const PART = /(\d{1,9}(?:\.\d{1,12})?) ?(ms|[smhd])/g;
const SECONDS_IN: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds of a duration with units; undefined if it is none. */
export const secondsIn = (duration: string): number | undefined => {
  if (!DURATION.test(duration)) return undefined;
  const parts = [...duration.toLowerCase().matchAll(PART)];
  return parts.reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (SECONDS_IN[unit] ?? 0),
    0,
  );
};

/** A Retry-After header, in seconds, as a duration or as an HTTP date; undefined if it is invalid or absent. */
export const retryAfterSeconds = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (NUMBER.test(text)) return Number(text);
  // Every HTTP date starts with a weekday; without this check Date.parse reads `-1` as a year.
  const instant = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(instant) ? secondsIn(text) : Math.max(0, Math.ceil((instant - now) / 1000));
};

/** `Please try again in 7m12.5s` of OpenAI and Groq, `Please retry after 1 second` of Azure, `Please retry in 22.1s` of Google. */
const ASKED =
  /\b(?:try again|retry|wait)(?: in| after| for)? ((?:\d{1,9}(?:\.\d{1,12})? ?(?:ms|[smhd]|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)(?![a-z]) ?){1,5})/i;

/** Seconds that a provider's sentence asks to wait. */
export const secondsAsked = (sentence: string): number | undefined =>
  secondsIn(ASKED.exec(sentence)?.[1]?.trim() ?? '');
