import { beforeAll, describe, expect, test } from 'vitest';
import { createAlarmStates, type DataPoint } from '../support/alarm-states.ts';
import {
  byHand,
  END,
  replayDeadline,
  replayDifference,
  replayLostRecord,
  replayMissingCredential,
  replayPendingRefund,
  replayTable,
  replayUnknownKey,
  replayUnknownPath,
  replayUpstream,
  times,
} from '../support/rehearsal.ts';
import { synthTemplate } from './synth.ts';

const { ids, firing } = createAlarmStates(synthTemplate({ stage: 'prod' }));

type Scenario = [title: string, points: () => Promise<DataPoint[]>, firing: string[]];

/** Metrics of one request that succeeds, written by a real router. */
let one: DataPoint[] = [];
beforeAll(async () => {
  one = await replayUpstream(1);
});

/** The points of a failure among `healthy` requests that succeed. */
const among = async (healthy: number, failure: Promise<DataPoint[]>): Promise<DataPoint[]> => [
  ...times(healthy, one),
  ...(await failure),
];

/** Each replay runs once, also when several scenarios use its points. */
const once = (replay: () => Promise<DataPoint[]>) => {
  let points: Promise<DataPoint[]> | undefined;
  return () => {
    points ??= replay();
    return points;
  };
};
const repeated = async (factor: number, points: Promise<DataPoint[]>) =>
  times(factor, await points);

const tableReset = once(() => replayTable({ trouble: 'reset', of: 'all keys', requests: 1 }));
const allThrottled = once(() => replayTable({ trouble: 'throttled', of: 'all keys', requests: 2 }));
const unknownKey = once(replayUnknownKey);
const pendingRefund = once(replayPendingRefund);
const lostRecord = once(replayLostRecord);
const deadline = once(replayDeadline);
const bothFail = once(() => replayUpstream(20, { status: 500 }));
const forbidden = once(() => replayUpstream(1, { status: 403, protocol: 'chat' }));

/** What a router writes in each runbook's failure, and in load that harms no service. */
const REPLAYED: Scenario[] = [
  ['200 requests that succeed', () => among(200, Promise.resolve([])), []],
  [
    "one 401 of the first target's provider while the second target serves",
    () => among(199, replayUpstream(1, { status: 401, protocol: 'chat' })),
    ['upstream-credential-refused'],
  ],
  [
    'one 402 of a provider while the second target serves',
    () => among(199, replayUpstream(1, { status: 402, protocol: 'chat' })),
    ['upstream-no-quota'],
  ],
  [
    'one request to a path that the provider does not have',
    () => among(199, replayUnknownPath()),
    ['upstream-model-unknown'],
  ],
  ['one 403, as for a flagged prompt', () => among(199, forbidden()), []],
  ['three 403s', () => among(197, repeated(3, forbidden())), ['upstream-credential-refused']],
  [
    '20 requests whose targets all return 500',
    bothFail,
    ['most-requests-fail', 'no-healthy-target', 'server-errors', 'service-down'],
  ],
  ['20 requests without a healthy target among 300,000', () => among(299_980, bothFail()), []],
  [
    'one credential that is missing from the secret',
    () => among(200, replayMissingCredential()),
    ['secret-fetch-failed'],
  ],
  [
    'a meters table that resets every write of 24 requests',
    () => repeated(24, tableReset()),
    ['meter-unreachable', 'most-requests-fail', 'server-errors', 'service-down'],
  ],
  [
    'three stray table failures among 300,000 requests',
    () => among(299_997, repeated(3, tableReset())),
    [],
  ],
  [
    'a table outage of 24 requests within a flood of 2,000 invalid keys',
    async () => [...(await repeated(24, tableReset())), ...(await repeated(2_000, unknownKey()))],
    [
      'authentication-failures',
      'meter-unreachable',
      'most-requests-fail',
      'server-errors',
      'service-down',
    ],
  ],
  [
    "one key's throttled item: 4 of its requests get 503, 31 requests succeed",
    () => replayTable({ trouble: 'throttled', of: 'one key', requests: 4 }),
    [],
  ],
  ['60 requests that are all throttled', () => repeated(30, allThrottled()), ['meters-throttled']],
  [
    '150 invalid keys and 20 valid ones',
    () => among(20, repeated(150, unknownKey())),
    ['authentication-failures'],
  ],
  ['50 invalid keys and 150 valid ones', () => among(150, repeated(50, unknownKey())), []],
  [
    'three pending refunds among 1,000 requests',
    () => among(997, repeated(3, pendingRefund())),
    ['refund-pending'],
  ],
  [
    'three lost records among 1,000 requests',
    () => among(997, repeated(3, lostRecord())),
    ['records-lost'],
  ],
  ['one lost record', () => among(299_999, lostRecord()), []],
  [
    'a history that differs from the meters by 20 of 1,000 units',
    () => among(1_000, replayDifference(1_000, 20)),
    ['history-differs'],
  ],
  ['one pending refund', () => among(299_999, pendingRefund()), []],
  [
    'five responses cut at the deadline among 200',
    () => among(195, repeated(5, deadline())),
    ['deadline-cuts'],
  ],
  [
    'five responses cut at the deadline among 300,000',
    () => among(299_995, repeated(5, deadline())),
    [],
  ],
];

const LAMBDA = 'AWS/Lambda';
const CRASHES = `${LAMBDA} Errors RouterFunction`;
const THROTTLES = `${LAMBDA} Throttles RouterFunction`;
const LATENCY = 'AWS/DynamoDB SuccessfulRequestLatency';
const USED = `${LAMBDA} ClaimedAccountConcurrency`;

/** Metrics of AWS, made by hand, next to requests of a real router. */
const BY_HAND: Scenario[] = [
  [
    'one failed run of the history among 100 requests',
    () => among(100, Promise.resolve(byHand(`${LAMBDA} Errors AdminFunction`, 1))),
    ['history-failed'],
  ],
  [
    'three crashes among 100 requests',
    () => among(97, Promise.resolve(byHand(CRASHES, 3))),
    ['function-errors'],
  ],
  [
    'three crashes among 300,000 requests',
    () => among(299_997, Promise.resolve(byHand(CRASHES, 3))),
    [],
  ],
  [
    '80 crashes among 100 requests',
    () => among(20, Promise.resolve(byHand(CRASHES, 80))),
    ['function-errors', 'most-requests-fail', 'service-down'],
  ],
  [
    'the kill switch: 50 throttles and no request',
    () => Promise.resolve(byHand(THROTTLES, 50)),
    ['most-requests-fail', 'service-down', 'throttles'],
  ],
  [
    'five throttles among 300,000 requests',
    () => among(299_995, Promise.resolve(byHand(THROTTLES, 5))),
    [],
  ],
  [
    '900 of 1,000 environments for three minutes',
    async () => byHand(USED, 10, 900, 900, 900, 10),
    ['concurrency'],
  ],
  ['900 of 1,000 environments for two minutes', async () => byHand(USED, 10, 900, 900, 10, 10), []],
  [
    'table writes of 150 ms for 15 minutes',
    async () => [-10, -5, 0].flatMap((minute) => shifted(minute, byHand(LATENCY, 150))),
    ['meters-slow'],
  ],
  ['table writes of 150 ms for 5 minutes', async () => byHand(LATENCY, 150), []],
];

const shifted = (minutes: number, points: DataPoint[]): DataPoint[] =>
  points.map((point) => ({ ...point, at: point.at + minutes * 60_000 }));

describe('the synthesized alarms on what a router writes', () => {
  test.each(REPLAYED)('alarms that fire on %s', async (_, points, expected) => {
    expect(firing(await points(), END)).toEqual(expected);
  });
});

describe('the synthesized alarms on metrics of AWS', () => {
  test.each(BY_HAND)('alarms that fire on %s', async (_, points, expected) => {
    expect(firing(await points(), END)).toEqual(expected);
  });
});

test('every alarm fires in at least one rehearsal', () => {
  const fired = [...REPLAYED, ...BY_HAND].flatMap(([, , expected]) => expected);
  expect([...new Set(fired)].toSorted()).toEqual(ids);
});
