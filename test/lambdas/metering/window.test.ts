import { describe, expect, test } from 'vitest';
import { periodOf } from '../../../lambdas/metering/limits.ts';
import { minuteOf, minuteResetsAt } from '../../../lambdas/support/clock.ts';

const at = (text: string) => Date.parse(text);

describe('the period of an instant', () => {
  test.each([
    ['hour', '2026-11-21T11:59:59.999Z', '2026-11-21T11', '2026-11-21T11:00Z', '2026-11-21T12:00Z'],
    ['hour', '2026-11-21T12:00:00.000Z', '2026-11-21T12', '2026-11-21T12:00Z', '2026-11-21T13:00Z'],
    ['hour', '2026-12-31T23:30:00.000Z', '2026-12-31T23', '2026-12-31T23:00Z', '2027-01-01T00:00Z'],
    ['day', '2026-11-30T23:59:59.999Z', '2026-11-30', '2026-11-30T00:00Z', '2026-12-01T00:00Z'],
    ['day', '2028-02-28T12:00:00.000Z', '2028-02-28', '2028-02-28T00:00Z', '2028-02-29T00:00Z'],
    ['month', '2026-01-31T23:59:59.999Z', '2026-01', '2026-01-01T00:00Z', '2026-02-01T00:00Z'],
    ['month', '2028-02-29T00:00:00.000Z', '2028-02', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12', '2026-12-01T00:00Z', '2027-01-01T00:00Z'],
    ['month', '2027-01-01T00:00:00.000Z', '2027-01', '2027-01-01T00:00Z', '2027-02-01T00:00Z'],
  ] as const)('the %s of %s is %s', (period, instant, label, startsAt, resetsAt) => {
    expect(periodOf(period, at(instant))).toEqual({
      label,
      startsAt: at(startsAt),
      resetsAt: at(resetsAt),
    });
  });
});

test('a minute resets when the next one starts', () => {
  const border = at('2026-11-21T12:00:00Z');
  expect(minuteOf(border)).toBe(minuteOf(border - 1) + 1);
  expect(minuteResetsAt(minuteOf(border - 1))).toBe(border);
});
