export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;
/** Lambda's longest invocation. */
export const MAX_INVOCATION_MS = 900_000;

/** An instant (ms since the epoch) as RFC 3339 in UTC, without milliseconds. */
export const formatInstant = (instant: number): string =>
  `${new Date(instant).toISOString().slice(0, 19)}Z`;
