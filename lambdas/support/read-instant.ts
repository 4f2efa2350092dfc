const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/**
 * Reads a UTC day, `2026-11-22`, or an RFC 3339 time, as ms since the epoch; NaN if the text is neither. `Date.parse` alone reads
 * 45 as the year 2045, February 30 as March 2, `2026-11-01 junk` as June, and a time without an offset in the machine's time zone.
 */
export const readInstant = (text: string): number => {
  const [, day = ''] = INSTANT.exec(text) ?? [];
  const start = Date.parse(day);
  const exists = !Number.isNaN(start) && new Date(start).toISOString().startsWith(day);
  return exists ? Date.parse(text) : Number.NaN;
};
