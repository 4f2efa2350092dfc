import { describe, expect, test } from 'vitest';
import { startLab } from '../support/fleet-lab.ts';
import { type Act, status } from '../support/fleet-upstream.ts';

/** Failures that last until the operator acts, or that the same request repeats. */
const FINAL = [401, 402, 403, 404, 301];
/** Failures that another request may not meet, with the caller's status. */
const PASSING: [number, number][] = [
  [500, 502],
  [503, 503],
  [429, 503],
];

const actOf = (code: number): Act =>
  code === 301 ? status(301, { location: 'http://127.0.0.1:1' }) : status(code);

const isFinal = (headers: Record<string, unknown>) => headers['x-should-retry'] === 'false';

describe('two targets that both fail', () => {
  test.each(FINAL.flatMap((final) => PASSING.map(([passing, seen]) => ({ final, passing, seen }))))(
    'a target that returns $final and one that returns $passing lead to $seen, which SDKs retry, in any order',
    async ({ final, passing, seen }) => {
      for (const codes of [
        [final, passing],
        [passing, final],
      ]) {
        const { askFor, fleet } = await startLab(codes.map(actOf));
        const { status: code, headers } = await askFor({ stream: false });
        expect([code, isFinal(headers)]).toEqual([seen, false]);
        expect(await fleet.charged()).toBe(0);
      }
    },
  );

  test.each(FINAL.map((first, at) => ({ first, second: FINAL[(at + 1) % FINAL.length] ?? 401 })))(
    'targets that return $first and $second lead to an error that SDKs do not retry',
    async ({ first, second }) => {
      const { askFor, fleet } = await startLab([actOf(first), actOf(second)]);
      const { status: code, headers } = await askFor({ stream: false });
      expect(code).toBeGreaterThanOrEqual(500);
      expect(isFinal(headers)).toBe(true);
      expect(await fleet.charged()).toBe(0);
    },
  );
});
