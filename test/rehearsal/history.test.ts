import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DataPoint } from '../support/alarm-states.ts';
import { outcomes, rings } from './evaluate.ts';
import { table } from './failures.ts';
import { type RehearsalStage, startStage } from './stage.ts';
import {
  createServer,
  HOUR,
  hourlyRuns,
  MINUTE,
  moved,
  RATES,
  repeated,
  START,
  WATCHED,
} from './timeline.ts';

let stage: RehearsalStage;
/** Points of one complete run. */
let run: DataPoint[];
beforeAll(async () => {
  stage = await startStage();
  await stage.runHistory(START);
  run = stage.takePoints();
});
afterAll(() => stage.close());

/** Points of the schedule's runs, at minute 25 of each hour. A run that fails reports nothing. */
const runHourly = async (from: number, hours: number): Promise<DataPoint[]> => {
  const points: DataPoint[] = [];
  for (let hour = 0; hour < hours; hour += 1) {
    const at = from + hour * HOUR + 25 * MINUTE;
    await stage.runHistory(at).catch(() => undefined);
    points.push(...stage.takePoints());
  }
  return points;
};

const usual = (hours: number): DataPoint[] => hourlyRuns(run, [START, START + hours * HOUR]);
const UNTIL = 80;
const range = (from = WATCHED): [number, number] => [from, START + UNTIL * HOUR];

test('one outage of the records table is reported by one of 60 hourly runs: history-differs fires once and ends', async () => {
  const server = createServer(stage);
  const lost = { begin: table('reset', (call) => call.table === 'records') };
  const evening = 20 * HOUR;
  const requests = { count: 10, everyMs: MINUTE, from: evening };
  const failed = await server.serve({ ...lost, awaits: 'RecordsLost' }, requests);
  await server.reset();
  const runs = await runHourly(START + 21 * HOUR, 60);
  const success = await server.serve({}, { count: 1, everyMs: 1, from: 81 * HOUR });
  const later = repeated([success], RATES['1 in 90 s'], [START + 21 * HOUR, range()[1]]);
  const points = [...usual(21), ...moved(failed, START), ...runs, ...later];
  for (const outcome of outcomes(points, range())) {
    expect(outcome).toEqual(rings(['history-differs', 'records-lost']));
  }
});

const failingRuns = async (hours: number): Promise<DataPoint[]> => {
  const begins = START + 200 * HOUR;
  table('reset', (call) => call.table === 'history')(stage, 0);
  const failed = await runHourly(begins, hours);
  stage.proxy.decide(() => 'none');
  expect(failed).toEqual([]);
  return [...usual(20), ...hourlyRuns(run, [START + (20 + hours) * HOUR, START + UNTIL * HOUR])];
};

test('five runs that fail because of their table: history-failed fires once and ends', async () => {
  for (const outcome of outcomes(await failingRuns(5), range())) {
    expect(outcome).toEqual(rings(['history-failed']));
  }
});

test('one run that fails fires no alarm', async () => {
  for (const outcome of outcomes(await failingRuns(1), range())) expect(outcome).toEqual(rings([]));
});

test('a schedule that does not start for eight hours: history-failed fires once and ends', () => {
  const points = [...usual(20), ...hourlyRuns(run, [START + 28 * HOUR, START + UNTIL * HOUR])];
  for (const outcome of outcomes(points, range())) {
    expect(outcome).toEqual(rings(['history-failed']));
  }
});

test('a new stage: history-failed is in ALARM until the first run, and no other alarm fires', () => {
  const created = START + 10 * MINUTE;
  for (const outcome of outcomes(usual(UNTIL), range(created))) {
    expect(outcome).toEqual(rings(['history-failed']));
  }
});
