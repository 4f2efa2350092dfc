type SparklineProps = {
  values: readonly number[];
  /** What the values are, for readers who do not see the drawing. */
  label: string;
  format: (value: number) => string;
};

const HEIGHT = 20;
const STEP = 6;

/** Values one after another, from zero to the highest. */
export const Sparkline = ({ values, label, format }: SparklineProps) => {
  const highest = Math.max(0, ...values);
  if (highest === 0) return null;
  const points = values.map((value, index) => `${index * STEP},${HEIGHT * (1 - value / highest)}`);
  return (
    <svg
      class="spark"
      viewBox={`0 -1 ${(values.length - 1) * STEP} ${HEIGHT + 2}`}
      role="img"
      aria-label={`${label}; the highest is ${format(highest)}, the last ${format(values.at(-1) ?? 0)}`}
    >
      <polyline points={points.join(' ')} />
    </svg>
  );
};
