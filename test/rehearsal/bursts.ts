import type { DataPoint } from '../support/alarm-states.ts';
import { provider, settlement, table, writeOfMeter } from './failures.ts';
import { FAILS, invocation, MINUTE, type Requests } from './timeline.ts';

/** Some failures within a minute, among requests that succeed. */
export type Burst = {
  title: string;
  /** Requests of this minute that succeed. */
  among: number;
  /** What fails: requests of each kind, whose lines count so many times. */
  failing?: [requests: Requests, count: number, times?: number][];
  /** What AWS counts, which no local run makes. */
  byHand?: DataPoint[];
  alarms: string[];
};

const status = (code: number, of: 'first target' | 'both targets' = 'first target'): Requests => ({
  begin: provider({ kind: 'status', status: code }, of),
});

const tableReset: Requests = { begin: table('reset', writeOfMeter) };
const unknownKey: Requests = { asked: () => ({ key: 'wrong' }) };
const lostRecord: Requests = {
  begin: table('reset', (call) => call.table === 'records'),
  awaits: 'RecordsLost',
};
/** Its provider rejects it, and its unit cannot be given back. */
const pendingRefund: Requests = {
  begin: (stage, index) => {
    provider({ kind: 'status', status: 400 }, 'both targets')(stage, index);
    table('reset', settlement)(stage, index);
  },
  awaits: 'RefundPending',
};
const deadline: Requests = {
  begin: ({ upstreams }) => upstreams.inject({ fault: { kind: 'stall' } }),
  asked: () => ({ remainingMs: 10_200 }),
};
const bothFail = status(500, 'both targets');
const throttled: Requests = { begin: table('throttled', writeOfMeter) };
const missingCredential: Requests = { begin: ({ putSecret }) => putSecret({ other: 'value' }) };

const byHand = (series: string, ...values: number[]): DataPoint[] =>
  values.map((value, minute) => ({ series, at: FAILS + minute * MINUTE, value }));

const CRASHES = 'AWS/Lambda Errors RouterFunction';
const THROTTLES = 'AWS/Lambda Throttles RouterFunction';
const LATENCY = 'AWS/DynamoDB SuccessfulRequestLatency';
const USED = 'AWS/Lambda ClaimedAccountConcurrency';
const invoked = (count: number) => ({ ...invocation(FAILS), value: count });

const OUTAGE = ['failures-at-low-traffic', 'most-requests-fail', 'service-down'];

export const BURSTS: Burst[] = [
  { title: '200 requests that succeed', among: 200, alarms: [] },
  {
    title: "one 401 of the first target's provider",
    ...{ among: 199, failing: [[status(401), 1]] },
    alarms: ['upstream-credential-refused'],
  },
  {
    title: 'one 402',
    ...{ among: 199, failing: [[status(402), 1]] },
    alarms: ['upstream-no-quota'],
  },
  {
    title: 'one 403, as for a flagged prompt',
    among: 199,
    failing: [[status(403), 1]],
    alarms: [],
  },
  {
    title: 'three 403s',
    ...{ among: 197, failing: [[status(403), 1, 3]] },
    alarms: ['upstream-credential-refused'],
  },
  {
    title: '20 requests whose targets all return 500',
    ...{ among: 0, failing: [[bothFail, 20]] },
    alarms: ['no-healthy-target', ...OUTAGE],
  },
  {
    title: '20 requests without a healthy target among 300,000',
    ...{ among: 299_980, failing: [[bothFail, 20]] },
    alarms: [],
  },
  {
    title: 'one credential that is missing from the secret',
    ...{ among: 200, failing: [[missingCredential, 1]] },
    alarms: ['secret-fetch-failed'],
  },
  {
    title: 'a meters table that resets every write of 24 requests',
    ...{ among: 0, failing: [[tableReset, 1, 24]] },
    alarms: ['meter-unreachable', ...OUTAGE],
  },
  {
    title: 'three stray table failures among 300,000 requests',
    ...{ among: 299_997, failing: [[tableReset, 1, 3]] },
    alarms: [],
  },
  {
    title: 'a table outage of 24 requests within a flood of 2,000 invalid keys',
    among: 0,
    failing: [
      [tableReset, 1, 24],
      [unknownKey, 1, 2_000],
    ],
    alarms: ['authentication-failures', 'meter-unreachable', ...OUTAGE],
  },
  {
    title: "one key's throttled item: four 503s among 35 requests",
    ...{ among: 31, failing: [[throttled, 1, 4]] },
    alarms: [],
  },
  {
    title: '60 requests that are all throttled',
    ...{ among: 0, failing: [[throttled, 1, 60]] },
    alarms: ['meters-throttled'],
  },
  {
    title: '150 invalid keys and 20 valid ones',
    ...{ among: 20, failing: [[unknownKey, 1, 150]] },
    alarms: ['authentication-failures'],
  },
  {
    title: '50 invalid keys and 150 valid ones',
    ...{ among: 150, failing: [[unknownKey, 1, 50]] },
    alarms: [],
  },
  {
    title: 'three pending refunds among 1,000 requests',
    ...{ among: 997, failing: [[pendingRefund, 1, 3]] },
    alarms: ['refund-pending'],
  },
  {
    title: 'one pending refund',
    ...{ among: 299_999, failing: [[pendingRefund, 1]] },
    alarms: [],
  },
  {
    title: 'three lost records among 1,000 requests',
    ...{ among: 997, failing: [[lostRecord, 1, 3]] },
    alarms: ['records-lost'],
  },
  { title: 'one lost record', among: 299_999, failing: [[lostRecord, 1]], alarms: [] },
  {
    title: 'five responses cut at the deadline among 200',
    ...{ among: 195, failing: [[deadline, 1, 5]] },
    alarms: ['deadline-cuts'],
  },
  {
    title: 'five responses cut at the deadline among 300,000',
    ...{ among: 299_995, failing: [[deadline, 1, 5]] },
    alarms: [],
  },
  {
    title: 'three crashes among 100 requests',
    ...{ among: 97, byHand: [invoked(3), ...byHand(CRASHES, 3)] },
    alarms: ['function-errors'],
  },
  {
    title: 'three crashes among 300,000 requests',
    ...{ among: 299_997, byHand: [invoked(3), ...byHand(CRASHES, 3)] },
    alarms: [],
  },
  {
    title: '80 crashes among 100 requests',
    ...{ among: 20, byHand: [invoked(80), ...byHand(CRASHES, 80)] },
    alarms: ['function-errors', 'most-requests-fail', 'service-down'],
  },
  {
    title: 'five throttles among 300,000 requests',
    ...{ among: 299_995, byHand: byHand(THROTTLES, 5) },
    alarms: [],
  },
  {
    title: '900 of 1,000 environments for three minutes',
    ...{ among: 0, byHand: byHand(USED, 10, 900, 900, 900, 10, 10) },
    alarms: ['concurrency'],
  },
  {
    title: '900 of 1,000 environments for two minutes',
    ...{ among: 0, byHand: byHand(USED, 10, 900, 900, 10, 10) },
    alarms: [],
  },
  {
    title: 'table writes of 150 ms for 17 minutes, then of 8 ms',
    ...{ among: 0, byHand: byHand(LATENCY, ...Array(17).fill(150), ...Array(20).fill(8)) },
    alarms: ['meters-slow'],
  },
  {
    title: 'table writes of 150 ms for 5 minutes, then of 8 ms',
    ...{ among: 0, byHand: byHand(LATENCY, ...Array(5).fill(150), ...Array(20).fill(8)) },
    alarms: [],
  },
];
