/** A number in a header, with or without a fraction. */
export const NUMBER = /^\d{1,9}(?:\.\d{1,9})?$/;

/** A Retry-After header, in seconds or as an HTTP date; undefined if it is invalid or absent. */
export const retryAfterSeconds = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (NUMBER.test(text)) return Number(text);
  // Every HTTP date starts with a weekday; without this check Date.parse reads `-1` as a year.
  const instant = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, Math.ceil((instant - now) / 1000));
};
