import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataPoint } from '../support/alarm-states.ts';
import { BURSTS, type Burst } from './bursts.ts';
import { alarmIds, outcomes, rings } from './evaluate.ts';
import { FAILURES } from './failures.ts';
import { type RehearsalStage, startStage } from './stage.ts';
import {
  createServe,
  createServer,
  endOf,
  FAILS,
  hourlyRuns,
  moved,
  RATES,
  type Rate,
  START,
  simulate,
  WATCHED,
} from './timeline.ts';

let stage: RehearsalStage;
let server: ReturnType<typeof createServer>;
let serve: ReturnType<typeof createServe>;
let normal: { success: DataPoint[]; run: DataPoint[] };
beforeAll(async () => {
  stage = await startStage();
  server = createServer(stage);
  serve = createServe(server);
  const success = await server.serve({}, { count: 1, everyMs: 1 });
  await stage.runHistory(WATCHED);
  normal = { success, run: stage.takePoints() };
});
afterAll(() => stage.close());

const rates = Object.keys(RATES) as Rate[];

describe.each(FAILURES)('$title', (failure) => {
  test.each(rates)('at %s', async (rate) => {
    const points = simulate(normal, await serve(failure, rate), failure, rate);
    for (const outcome of outcomes(points, [WATCHED, endOf(failure.minutes)])) {
      expect(outcome).toEqual(rings(failure.alarms[rate]));
    }
  });
});

/** Points of one minute: what fails, and requests that succeed. */
const pointsOf = async ({ among, failing = [], byHand = [] }: Burst): Promise<DataPoint[]> => {
  const points = [...byHand, ...moved(normal.success, FAILS, among)];
  for (const [requests, count, times = 1] of failing) {
    server.nextDay();
    points.push(...moved(await server.serve(requests, { count, everyMs: 1_000 }), FAILS, times));
    await server.reset();
  }
  return [...points, ...hourlyRuns(normal.run, [START, endOf(5)])];
};

describe('failures of one minute', () => {
  test.each(BURSTS)('$title', async (burst) => {
    for (const outcome of outcomes(await pointsOf(burst), [WATCHED, endOf(5)])) {
      expect(outcome).toEqual(rings(burst.alarms));
    }
  });
});

test('every alarm fires in at least one rehearsal', () => {
  const fired = [
    ...FAILURES.flatMap(({ alarms }) => Object.values(alarms).flat()),
    ...BURSTS.flatMap(({ alarms }) => alarms),
    // history.test.ts
    ...['history-differs', 'history-failed'],
  ];
  expect([...new Set(fired)].toSorted()).toEqual(alarmIds);
});
