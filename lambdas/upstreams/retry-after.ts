const SECONDS = /^\d{1,9}$/;

/** Seconds that a Retry-After header asks to wait, given as seconds or as an HTTP date; else undefined. */
export const parseRetryAfter = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (SECONDS.test(text)) return Number(text);
  // Every HTTP date begins with a weekday; without it Date.parse takes `-1` for a year.
  const instant = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, Math.ceil((instant - now) / 1000));
};
