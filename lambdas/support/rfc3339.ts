/** An instant (ms since the epoch) as RFC 3339 in UTC, to the second: nobody plans by milliseconds. */
export const formatInstant = (instant: number): string =>
  `${new Date(instant).toISOString().slice(0, 19)}Z`;
