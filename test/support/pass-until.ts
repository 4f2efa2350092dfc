import { expect } from 'vitest';
import type { ManualClock } from './manual-clock.ts';

/** Lets time pass until a promise has settled. */
export const passUntil = async <Value>(
  clock: Pick<ManualClock, 'advance'>,
  promise: Promise<Value>,
): Promise<Value> => {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  promise.then(end, end);
  await expect
    .poll(() => {
      if (!isDone) clock.advance(250);
      return isDone;
    })
    .toBe(true);
  return promise;
};
