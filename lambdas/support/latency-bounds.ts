/** Upper bounds of the buckets of every histogram, each twice the one before, but the last, which has none. Milliseconds. */
export const LATENCY_BOUNDS_MS: readonly number[] = /* @__PURE__ */ Array.from(
  { length: 16 },
  (_, power) => 10 * 2 ** power,
);

/** How many of the durations are in each bucket. */
export const bucketCountsOf = (durations: readonly number[]): number[] => {
  const counts = new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0);
  for (const ms of durations) {
    const found = LATENCY_BOUNDS_MS.findIndex((bound) => ms <= bound);
    const index = found === -1 ? LATENCY_BOUNDS_MS.length : found;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
};
