import { synthTemplate } from '../lib/synth.ts';
import {
  createAlarmStates,
  type DataPoint,
  type Outcome,
  type Unpublished,
} from '../support/alarm-states.ts';

const alarms = createAlarmStates(synthTemplate({ stage: 'prod' }));
export const alarmIds = alarms.ids;

const UNPUBLISHED: Unpublished[] = [
  { extraPeriods: 0, fillsEmpty: true },
  { extraPeriods: 2, fillsEmpty: false },
];

/** What the alarms do, for each of the ways in which AWS may evaluate them. */
export const outcomes = (points: DataPoint[], range: [from: number, to: number]): Outcome[] =>
  alarms.run(points, range, UNPUBLISHED);

/** Each alarm fires once and ends once; no other changes. */
export const rings = (ids: string[]): Outcome => ({
  changes: Object.fromEntries(ids.map((id) => [id, 2])),
  inAlarm: [],
});
