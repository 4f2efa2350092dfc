import { describe, expect, test } from 'vitest';
import { type AlarmRule, type AlarmState, evaluateAlarm } from '../support/alarm-rule.ts';

type Expected = AlarmState | 'retained';
type Row = [points: string, ignore: Expected, breaching: Expected, notBreaching: Expected];

/** The examples of AWS's page: 0 is within the threshold, X is not, - is missing; the range has five points. */
const THREE_OF_THREE: Row[] = [
  ['0 - X - X', 'OK', 'OK', 'OK'],
  ['0 - - - -', 'OK', 'OK', 'OK'],
  ['- - - - -', 'retained', 'ALARM', 'OK'],
  ['0 X X - X', 'ALARM', 'ALARM', 'ALARM'],
  ['- - X - -', 'retained', 'ALARM', 'OK'],
];
const TWO_OF_THREE: Row[] = [
  ['0 - X - X', 'ALARM', 'ALARM', 'ALARM'],
  ['0 0 X 0 X', 'ALARM', 'ALARM', 'ALARM'],
  ['0 - X - -', 'OK', 'ALARM', 'OK'],
  ['- - - - 0', 'OK', 'ALARM', 'OK'],
  ['- - - X -', 'retained', 'ALARM', 'OK'],
];

const VALUES: Record<string, number | undefined> = { '0': 0, X: 2, '-': undefined };

const statesOf = (points: string, datapoints: number): Expected[] =>
  (['ignore', 'breaching', 'notBreaching'] as const).map((treatMissing) => {
    const rule: AlarmRule = { datapoints, periods: 3, threshold: 1, treatMissing };
    const range = points.split(' ').map((point) => VALUES[point]);
    const [ok, alarm] = (['OK', 'ALARM'] as const).map((was) => evaluateAlarm(range, rule, was));
    return ok === alarm ? (ok ?? 'retained') : 'retained';
  });

describe("the examples of CloudWatch's documentation", () => {
  test.each(THREE_OF_THREE)('3 of 3 data points: %s', (points, ...expected) => {
    expect(statesOf(points, 3)).toEqual(expected);
  });
  test.each(TWO_OF_THREE)('2 of 3 data points: %s', (points, ...expected) => {
    expect(statesOf(points, 2)).toEqual(expected);
  });
});
