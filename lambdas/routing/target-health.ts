import type { Clock } from '../support/clock.ts';

/** Recent successes and failures of a target in this environment. */
export type TargetHealth = {
  succeeded(): void;
  /** Returns true if this failure trips: `after` in a row, or half of the recent calls. */
  failed(after: number): boolean;
  reset(): void;
};

const WINDOW_MS = 10_000;
const MIN_CALLS = 10;
const MAX_FAILING_SHARE = 0.5;

export const createTargetHealth = (clock: Clock): TargetHealth => {
  let inARow = 0;
  let recent: { at: number; isFailure: boolean }[] = [];

  const add = (isFailure: boolean) => {
    const since = clock.now() - WINDOW_MS;
    recent = [...recent.filter(({ at }) => at > since), { at: clock.now(), isFailure }];
  };

  return {
    succeeded: () => {
      inARow = 0;
      add(false);
    },
    failed: (after) => {
      inARow += 1;
      add(true);
      const failures = recent.filter(({ isFailure }) => isFailure).length;
      const isMostlyFailing =
        recent.length >= MIN_CALLS && failures / recent.length >= MAX_FAILING_SHARE;
      return inARow >= after || isMostlyFailing;
    },
    reset: () => {
      inARow = 0;
      recent = [];
    },
  };
};
