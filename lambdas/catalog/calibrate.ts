import { type Counting, framedTokens } from './estimate-tokens.ts';
import {
  FAMILIES,
  FRAMING_MEMBERS,
  type Framing,
  type FramingNumbers,
  framingOf,
} from './families.ts';

/** A prompt that the provider has counted: the numbers of the estimate, and the provider's count. */
export type Receipt = { counts: readonly number[]; tokens: number };

/** Shares by which estimates are off, without their sign. */
export type Errors = { median: number; p90: number };

export type Calibration = {
  framing: Framing;
  before: Errors;
  /** Of receipts that a fit did not see: each fifth is estimated by a fit of the others. */
  after: Errors;
};

/** The noise of a text's estimate, as a share of the true count. */
const NOISE = 0.02;
/** A receipt that is more than three times off has other causes than the framing. */
const MAX_FACTOR = 3;
/** Of the median residual: what is farther off is an outlier, and pulls as if it were no farther. */
const OUTLYING = 3;
const ROUNDS = 3;
const FOLDS = 5;

type Matrix = number[][];

const dot = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);

/** Solves a symmetric, positive definite system by Gaussian elimination. */
const solve = (matrix: Matrix, right: number[]): number[] => {
  const rows = matrix.map((row, index) => [...row, right[index] ?? 0]);
  const size = rows.length;
  for (const [pivot, row] of rows.entries()) {
    for (const below of rows.slice(pivot + 1)) {
      const factor = (below[pivot] ?? 0) / (row[pivot] ?? 1);
      for (let column = pivot; column <= size; column += 1) {
        below[column] = (below[column] ?? 0) - factor * (row[column] ?? 0);
      }
    }
  }
  const found: number[] = Array(size).fill(0);
  for (const [index, row] of [...rows.entries()].toReversed()) {
    found[index] = ((row[size] ?? 0) - dot(row.slice(0, size), found)) / (row[index] ?? 1);
  }
  return found;
};

const medianOf = (values: number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

/** How the framings of the known vendors vary together, which is what is expected of another one. */
const createPrior = (): Matrix => {
  const known = Object.values(FAMILIES).map(({ framing }) => framing);
  const means = FRAMING_MEMBERS.map(
    (_, index) => known.reduce((sum, values) => sum + (values[index] ?? 0), 0) / known.length,
  );
  const deviations = known.map((values) =>
    values.map((value, index) => value - (means[index] ?? 0)),
  );
  return means.map((mean, row) =>
    means.map((__, column) => {
      const shared = deviations.reduce((sum, one) => sum + (one[row] ?? 0) * (one[column] ?? 0), 0);
      // No member is certain, not even one in which the known vendors agree.
      const own = row === column ? (0.05 * mean + 0.001) ** 2 : 0;
      return shared / known.length + own;
    }),
  );
};

/** Receipts in units of their true counts: what is fitted is the share by which each is off. */
const scaled = ({ counts, tokens }: Receipt): number[] => counts.map((value) => value / tokens);

/**
 * The framing that explains the receipts best, starting from `start`: the posterior mean of a linear model, in
 * which only the members of `free` may change.
 */
const fitFree = (
  rows: Matrix,
  { start, free, noises }: { start: FramingNumbers; free: boolean[]; noises: number[] },
): number[] => {
  const prior = createPrior().map((row, index) =>
    row.map((value, column) => (free[index] && free[column] ? value : 0)),
  );
  const spread = rows.map((row) => prior.map((column) => dot(column, row)));
  const covariance = spread.map((one, index) =>
    rows.map((row, other) => dot(one, row) + (index === other ? (noises[index] ?? 0) ** 2 : 0)),
  );
  const residuals = rows.map((row) => 1 - dot(row, start));
  const weights = solve(covariance, residuals);
  return start.map(
    (value, member) =>
      value +
      spread.reduce((sum, one, index) => sum + (one[member] ?? 0) * (weights[index] ?? 0), 0),
  );
};

/** No member is below 0, so that a longer prompt never counts less: such a one is 0, and the others fit again. */
const fitAbove0 = (rows: Matrix, start: FramingNumbers, noises: number[]): FramingNumbers => {
  const free = start.map(() => true);
  for (;;) {
    const fixed = start.map((value, index) => (free[index] ? value : 0));
    const values = fitFree(rows, { start: fixed, free, noises });
    const negative = values.map((value) => value < 0);
    if (!negative.includes(true)) return values;
    for (const [index, isNegative] of negative.entries()) if (isNegative) free[index] = false;
  }
};

/** How far off each receipt may be: as all are, but for those that are farther off than most. */
const noisesOf = (errors: number[]): number[] => {
  const usual = OUTLYING * Math.max(NOISE, medianOf(errors));
  return errors.map((error) => NOISE * Math.max(1, error / usual) ** 3);
};

/**
 * From the factor that most receipts have, again and again with less weight for those that are far off, such as those of
 * another version of the model.
 */
const fitFraming = (receipts: Receipt[], start: FramingNumbers): FramingNumbers => {
  const rows = receipts.map(scaled);
  const factors = rows.map((row) => dot(row, start));
  const usual = medianOf(factors);
  let errors = factors.map((factor) => Math.abs(factor / usual - 1));
  let values = start;
  for (let round = 0; round < ROUNDS; round += 1) {
    values = fitAbove0(rows, start, noisesOf(errors));
    errors = rows.map((row) => Math.abs(1 - dot(row, values)));
  }
  return values;
};

const errorOf = (framing: FramingNumbers, { counts, tokens }: Receipt): number =>
  Math.abs(framedTokens(framing, counts) / tokens - 1);

const summarize = (errors: number[]): Errors => {
  const sorted = errors.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return { median: at(0.5), p90: at(0.9) };
};

/** Fewer receipts say more about their texts than about the framing. */
const MIN_RECEIPTS = 10;

/** The framing that the provider's counts show; undefined below ten receipts. */
export const calibratedFraming = (all: Receipt[], framing: FramingNumbers) => {
  const receipts = all.filter(({ counts, tokens }) => {
    const factor = framedTokens(framing, counts) / tokens;
    return factor < MAX_FACTOR && factor > 1 / MAX_FACTOR;
  });
  return receipts.length < MIN_RECEIPTS
    ? undefined
    : { receipts, framing: fitFraming(receipts, framing) };
};

/** Fits the framing of a target to what its provider has counted; undefined below ten receipts. */
export const calibrate = (all: Receipt[], { framing }: Counting): Calibration | undefined => {
  const found = calibratedFraming(all, framing);
  if (!found) return undefined;
  const { receipts } = found;
  const unseen = Array.from({ length: FOLDS }, (_, fold) => {
    const isSeen = (__: Receipt, index: number) => index % FOLDS !== fold;
    const fitted = fitFraming(receipts.filter(isSeen), framing);
    const others = receipts.filter((one, index) => !isSeen(one, index));
    return others.map((receipt) => errorOf(fitted, receipt));
  }).flat();
  return {
    framing: framingOf(found.framing.map((number) => Math.round(number * 1_000) / 1_000)),
    before: summarize(receipts.map((receipt) => errorOf(framing, receipt))),
    after: summarize(unseen),
  };
};
