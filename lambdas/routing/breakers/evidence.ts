import { type Failure, type RecentCalls, type Row, recentIn } from './states.ts';
import type { TripRule } from './trip-rules.ts';

/** Five timeouts of a long prompt in a row take ten minutes; older failures are no evidence. */
const WINDOW_MS = 10 * 60_000;
/** More than any rule needs of one member, so that it cannot push the failures of others out of the row. */
const MAX_OF_ONE = 5;
const MAX_ROW = 50;

/** Appends in place. */
export const addFailure = (row: Row, failure: Failure): void => {
  while (row[0] && row[0].at <= failure.at - WINDOW_MS) row.shift();
  const ofSame = row.filter(({ by }) => by === failure.by);
  const [oldest] = ofSame.length >= MAX_OF_ONE ? ofSame : row.length >= MAX_ROW ? row : [];
  if (oldest) row.splice(row.indexOf(oldest), 1);
  row.push(failure);
};

/** What a first content leaves of a row: the responses that broke off. */
export const withoutSilent = (row: Row): Row => row.filter(({ hadContent }) => hadContent);

/** The failures that add up with those of a category: all but connections for `failure`, which are one environment's. */
const ofCategory = (row: Row, category: TripRule['category']): Row =>
  row.filter((failure) =>
    category === 'failure' ? failure.category !== 'connection' : failure.category === category,
  );

/** The most failures that one member has among them. */
const heaviestCount = (failures: readonly { by: string }[]): number => {
  const counts = new Map<string, number>();
  for (const { by } of failures) counts.set(by, (counts.get(by) ?? 0) + 1);
  return Math.max(0, ...counts.values());
};

/** Whether the row has `after` failures of the category. */
export const isFailing = (row: Row, { category }: TripRule, after: number): boolean =>
  ofCategory(row, category).length >= after;

/**
 * The same, and enough of them without any single member's: one whose requests alone fail shows nothing about the
 * level above it, nor does it with a chance failure of another.
 */
export const isFailingForSeveral = (row: Row, { category }: TripRule, after: number): boolean => {
  const same = ofCategory(row, category);
  const ofOthers = same.length - heaviestCount(same);
  return same.length >= after && ofOthers >= Math.max(1, Math.floor(after / 2));
};

// --- the share of recent calls ---

const MIN_CALLS = 10;
const MAX_FAILING_SHARE = 0.5;

const exceedsShare = (calls: RecentCalls): boolean =>
  calls.length > 0 &&
  calls.filter(({ hasFailed }) => hasFailed).length / calls.length >= MAX_FAILING_SHARE;

/** Whether half of ten or more calls failed, also without the project whose calls failed most. */
export const isUnsteady = (all: RecentCalls, now: number): boolean => {
  const calls = recentIn(all, now);
  if (calls.length < MIN_CALLS || !exceedsShare(calls)) return false;
  const failed = calls.filter(({ hasFailed }) => hasFailed);
  const most = heaviestCount(failed);
  const heaviest = failed.find(
    ({ by }) => failed.filter((other) => other.by === by).length === most,
  );
  const others = calls.filter(({ by }) => by !== heaviest?.by);
  return exceedsShare(others) && others.filter(({ hasFailed }) => hasFailed).length > 1;
};
