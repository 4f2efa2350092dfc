import { median } from '../median.ts';
import type { Case } from './cases.ts';
import { load, type Target } from './client.ts';

export const firstTextMs = async (target: Target, current: Case): Promise<number> =>
  median((await load(target, current)).firstTextMs);

/**
 * What the second side takes longer than the first until the first text, in microseconds: two requests by turns, so that what
 * else the machine does falls to both.
 */
export const addedToFirstText = async (
  sides: [Target, Target],
  current: Case,
  ms: number,
): Promise<number[]> => {
  const one = { ...current, requests: 1, connections: 1 };
  const added: number[] = [];
  for (const endsAt = performance.now() + ms; performance.now() < endsAt; ) {
    const isReverse = added.length % 2 === 1;
    const times: number[] = [];
    for (const side of isReverse ? sides.toReversed() : sides) {
      times.push(1_000 * (await firstTextMs(side, one)));
    }
    const [first = 0, second = 0] = times;
    added.push(isReverse ? first - second : second - first);
  }
  return added;
};

/** The median of some values, the interval that holds it with 95 %, their quartiles and their number. */
export const spreadOf = (values: number[]): string[] => {
  const half = 1 / Math.sqrt(values.length);
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(0) ?? '-';
  const between = (one: number, other: number) => `${at(one)} to ${at(other)}`;
  return [at(0.5), between(0.5 - half, 0.5 + half), between(0.25, 0.75), `${values.length}`];
};
