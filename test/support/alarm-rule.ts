import type { Value } from './metric-math.ts';

/** How CloudWatch decides the state of an alarm, from AWS's page "Alarm evaluation". */
export type AlarmState = 'OK' | 'ALARM';

export type AlarmRule = {
  /** Data points that must be breaching, and how many are evaluated. */
  datapoints: number;
  periods: number;
  threshold: number;
  /** `missing`, which leads to a third state, is not used here. */
  treatMissing: 'notBreaching' | 'breaching' | 'ignore';
};

/**
 * The state after one evaluation of the data points of the evaluation range, oldest first. The range may have more points
 * than are evaluated. Real ones are preferred, however old; the treatment of missing data stands for the rest. With
 * `ignore` it decides only if no real point is within the threshold.
 */
export const evaluateAlarm = (
  range: Value[],
  { datapoints, periods, threshold, treatMissing }: AlarmRule,
  state: AlarmState,
): AlarmState => {
  const real = range.filter((value) => value !== undefined).slice(-periods);
  const breaching = real.filter((value) => value > threshold).length;
  const filled = treatMissing === 'breaching' ? periods - real.length : 0;
  if (breaching + filled >= datapoints) return 'ALARM';
  const isUndecided = real.length < periods && breaching === real.length;
  return treatMissing === 'ignore' && isUndecided ? state : 'OK';
};
