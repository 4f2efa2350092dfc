import type { Clock } from '../support/clock.ts';
import type { TripRule } from './trip-policy.ts';

/** Recent successes and failures of a target in this environment, with the projects whose they were. */
export type TargetHealth = {
  succeeded(projectId: string): void;
  failed(projectId: string, rule: TripRule): void;
  /** Whether the failures open a breaker: `after` in a row, or half of the recent calls. */
  isFailing(after: number): boolean;
  /**
   * The same without regard to any single project: one that fails on purpose cannot open a breaker, nor
   * can it with a chance failure of another. Failures that no request can cause count from anyone.
   */
  isFailingForSeveral(rule: TripRule): boolean;
  reset(): void;
};

type Outcome = { at: number; projectId: string; failure?: TripRule };

const WINDOW_MS = 10_000;
/** Five timeouts of a long prompt in a row take ten minutes; older failures are no evidence. */
const ROW_WINDOW_MS = 10 * 60_000;
const MIN_CALLS = 10;
const MAX_FAILING_SHARE = 0.5;
/** Bounds the memory; the rules need no more. */
const MAX_ROW = 10;
const MAX_RECENT = 50;

/** Appends in place: a target is called hundreds of times a second. */
const append = (
  outcomes: Outcome[],
  outcome: Outcome,
  { windowMs, limit }: { windowMs: number; limit: number },
): void => {
  const oldest = outcome.at - windowMs;
  while (outcomes[0] && (outcomes[0].at <= oldest || outcomes.length >= limit)) outcomes.shift();
  outcomes.push(outcome);
};

const isFailure = ({ failure }: Outcome): boolean => failure !== undefined;

/** The project with the most failures. */
const heaviestIn = (outcomes: Outcome[]): string | undefined => {
  const counts = new Map<string, number>();
  for (const { projectId } of outcomes.filter(isFailure)) {
    counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one)[0]?.[0];
};

/** The outcomes of all projects but the one with the most failures. */
const withoutHeaviest = (outcomes: Outcome[]): Outcome[] => {
  const heaviest = heaviestIn(outcomes);
  return outcomes.filter(({ projectId }) => projectId !== heaviest);
};

const exceedsShare = (outcomes: Outcome[]): boolean =>
  outcomes.length > 0 && outcomes.filter(isFailure).length / outcomes.length >= MAX_FAILING_SHARE;

export const createTargetHealth = (clock: Clock): TargetHealth => {
  /** Failures since the last success. */
  const row: Outcome[] = [];
  const recent: Outcome[] = [];

  const add = (outcome: Outcome) => {
    append(recent, outcome, { windowMs: WINDOW_MS, limit: MAX_RECENT });
    if (outcome.failure) append(row, outcome, { windowMs: ROW_WINDOW_MS, limit: MAX_ROW });
    else row.length = 0;
  };

  const isMostlyFailing = () => recent.length >= MIN_CALLS && exceedsShare(recent);

  return {
    succeeded: (projectId) => add({ at: clock.now(), projectId }),
    failed: (projectId, failure) => add({ at: clock.now(), projectId, failure }),
    isFailing: (after) => row.length >= after || isMostlyFailing(),
    isFailingForSeveral: ({ after, mayBeRequest, category }) => {
      const same = row.filter(({ failure }) =>
        // Connections fail for one environment, and are no evidence for all.
        category === 'failure'
          ? failure?.category !== 'connection'
          : failure?.category === category,
      );
      if (!mayBeRequest) return same.length >= after;
      const neededOfOthers = Math.max(1, Math.floor(after / 2));
      if (same.length >= after && withoutHeaviest(same).length >= neededOfOthers) return true;
      const others = withoutHeaviest(recent).filter(
        ({ failure }) => failure?.category !== 'connection',
      );
      return (
        category === 'failure' &&
        isMostlyFailing() &&
        exceedsShare(others) &&
        others.filter(isFailure).length > 1
      );
    },
    reset: () => {
      row.length = 0;
      recent.length = 0;
    },
  };
};
