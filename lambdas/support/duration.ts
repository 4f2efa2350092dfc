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

/** An HTTP date, each of which starts with a weekday, or RFC 3339; without the check Date.parse reads `-1` as a year. */
const TIME = /^(?:[A-Z][a-z]{2}|\d{4}-\d\d-\d\dT)/;
export const instantIn = (text: string): number =>
  TIME.test(text) ? Date.parse(text) : Number.NaN;

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

/** Now, by the clock of who sent a `Date`: what it states of times is by that. */
export const sentAt = (date = '', now: number): number => Date.parse(date) || now;
