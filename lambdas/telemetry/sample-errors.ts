import { MINUTE_MS } from '../support/durations.ts';

/** Refusals written in full within a minute; a flood adds one in a hundred. */
const FULL_PER_MINUTE = 10;
const ONE_IN = 100;

/** Whether the log line of a refusal at `now` (ms) is written. */
export type SampleErrors = (now: number) => boolean;

/** A flood of refused calls must not become a flood of log lines: at 1,000 a second they are $15 a day. */
export const createSampleErrors = (): SampleErrors => {
  let minute = Number.NEGATIVE_INFINITY;
  let seen = 0;
  return (now) => {
    const current = Math.floor(now / MINUTE_MS);
    if (current !== minute) {
      minute = current;
      seen = 0;
    }
    seen += 1;
    return seen <= FULL_PER_MINUTE || seen % ONE_IN === 0;
  };
};
