/** The middle one of the sorted values, the upper of two; NaN of none. */
export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The value below which a share of the values lies, in whole numbers; `0` of none. */
export const quantile = (values: number[], share: number): string => {
  const sorted = values.toSorted((one, other) => one - other);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0);
};
