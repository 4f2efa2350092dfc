import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRandom } from '../simulation/random.ts';
import type { DataPoint } from '../support/alarm-states.ts';
import { checksAll } from '../support/seeds.ts';
import { BURSTS, type Burst } from './bursts.ts';
import { alarmIds, outcomes, rings } from './evaluate.ts';
import { FAILURES } from './failures.ts';
import { type RehearsalStage, startStage } from './stage.ts';
import {
  createServe,
  createServer,
  endOf,
  FAILS,
  HOUR,
  hourlyRuns,
  irregular,
  moved,
  RATES,
  type Rate,
  type Requests,
  repeated,
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
/** In `npm test` the cells of a diagonal: each row and each column at least once. */
const cellsOf = <Column>(row: number, columns: readonly Column[]): Column[] =>
  columns.filter((_, column) => checksAll || column === row % columns.length);

describe.each(FAILURES.map((failure, row) => ({ ...failure, row })))('$title', (failure) => {
  test.each(cellsOf(failure.row, rates))('at %s', async (rate) => {
    const points = simulate(normal, await serve(failure, rate), failure, rate);
    for (const outcome of outcomes(points, [WATCHED, endOf(failure.minutes)])) {
      expect(outcome).toEqual(rings(failure.alarms[rate]));
    }
  });
});

const served = new Map<Requests, Promise<DataPoint[]>>();

/** Points of requests that fail, which are served once. */
const failingPoints = (requests: Requests, count: number): Promise<DataPoint[]> => {
  const serveThem = async () => {
    server.nextDay();
    const points = await server.serve(requests, { count, everyMs: 1_000 });
    await server.reset();
    return points;
  };
  const known = served.get(requests) ?? serveThem();
  served.set(requests, known);
  return known;
};

/** Points of one minute: what fails, and requests that succeed. */
const pointsOf = async ({ among, failing = [], byHand = [] }: Burst): Promise<DataPoint[]> => {
  const points = [...byHand, ...moved(normal.success, FAILS, among)];
  for (const [requests, count, times = 1] of failing) {
    points.push(...moved(await failingPoints(requests, count), FAILS, times));
  }
  // An alarm ends with the next requests that succeed.
  const later = repeated([normal.success], RATES['1/s'], [FAILS + HOUR, endOf(5)]);
  return [...points, ...later, ...hourlyRuns(normal.run, [START, endOf(5)])];
};

describe('failures of one minute', () => {
  test.each(BURSTS)('$title', async (burst) => {
    for (const outcome of outcomes(await pointsOf(burst), [WATCHED, endOf(5)])) {
      expect(outcome).toEqual(rings(burst.alarms));
    }
  });
});

const IRREGULAR = FAILURES.filter(({ cycle, byHand = [] }) => cycle !== undefined || byHand[0]);
const GAPS_S = [90, 40, 20, 5];
/** They were 152 when each alarm compared the requests of five minutes with a number. */
const MAX_CHANGES = 8;

describe(`at irregular intervals no alarm changes its state more than ${MAX_CHANGES} times in six hours`, () => {
  test.each(IRREGULAR.map((failure, row) => ({ ...failure, row })))('$title', async (failure) => {
    const served = await serve(failure, '1/s');
    if (!('cycle' in served)) throw new Error('It depends on earlier requests.');
    const [over, end] = [FAILS + 6 * HOUR, endOf(360)];
    for (const seconds of cellsOf(failure.row, GAPS_S)) {
      const traffic = { everyMs: seconds * 1_000, random: createRandom(seconds) };
      const points = [
        ...hourlyRuns(normal.run, [START, end]),
        ...irregular([normal.success], traffic, [START, FAILS]),
        ...irregular(served.cycle, traffic, [FAILS, over]),
        ...irregular([normal.success], traffic, [over, end]),
      ];
      for (const { changes, inAlarm } of outcomes(points, [WATCHED, end])) {
        expect(inAlarm).toEqual([]);
        expect(Math.max(0, ...Object.values(changes))).toBeLessThanOrEqual(MAX_CHANGES);
      }
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
