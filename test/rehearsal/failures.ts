import type { Fault } from '../../local/embedded-upstream/faults.ts';
import type { TableCall, Trouble } from '../metering/dynamo-proxy.ts';
import { type Failure, invocation, type Requests } from './timeline.ts';

type Begin = NonNullable<Requests['begin']>;

/** From the first request on, at the first target or at both. */
export const provider =
  (fault: Fault, of: 'first target' | 'both targets'): Begin =>
  ({ upstreams }, index) => {
    if (index > 0) return;
    upstreams.inject({ fault, ...(of === 'first target' && { protocol: 'chat' }) });
  };

/** One request in so many. */
const sometimes =
  (fault: Fault, oneIn: number): Begin =>
  ({ upstreams }, index) => {
    if (index % oneIn === 0) upstreams.inject({ fault, times: 1 });
  };

export const table =
  (trouble: Trouble, isOf: (call: TableCall) => boolean): Begin =>
  ({ proxy }) =>
    proxy.decide((call) => (isOf(call) ? trouble : 'none'));

export const writeOfMeter = ({ operation, key }: TableCall): boolean =>
  operation === 'UpdateItem' && key.startsWith('mtr');

/** What charges or refunds a request, however many writes its reservation took: those depend on the meter's past. */
export const settlement = (call: TableCall): boolean =>
  writeOfMeter(call) && /"N":"-\d/.test(call.body);

const isIn = (name: string) => (call: TableCall) => call.table === name;

const always = (...alarms: string[]): Failure['alarms'] => ({
  '1 in 90 s': alarms,
  '1/s': alarms,
  '50/s': alarms,
});

const OUTAGE = ['most-requests-fail', 'server-errors', 'service-down'];
const NO_TARGET = ['no-healthy-target', ...OUTAGE];
const FEW = 'failures-at-low-traffic';

/** Minutes that a breaker stays open for what an operator has to repair. */
const UNTIL_REPAIRED = 5;

/** Each failure with the alarms that fire. Both lists are complete: what is not named must not fire. */
export const FAILURES: Failure[] = [
  { title: 'no failure', minutes: 180, cycle: 1, alarms: always() },
  {
    title: 'one stream in three breaks after its first words',
    minutes: 60,
    cycle: 3,
    begin: sometimes({ kind: 'error', after: 3 }, 3),
    asked: () => ({ stream: true }),
    alarms: { '1 in 90 s': [FEW], '1/s': ['server-errors'], '50/s': ['server-errors'] },
  },
  {
    title: 'one stream in five breaks after its first words',
    minutes: 60,
    cycle: 5,
    begin: sometimes({ kind: 'error', after: 3 }, 5),
    asked: () => ({ stream: true }),
    alarms: { '1 in 90 s': [FEW], '1/s': ['server-errors'], '50/s': ['server-errors'] },
  },
  {
    title: 'both targets return 500',
    minutes: 120,
    begin: provider({ kind: 'status', status: 500 }, 'both targets'),
    alarms: { '1 in 90 s': [FEW, 'no-healthy-target'], '1/s': NO_TARGET, '50/s': NO_TARGET },
  },
  {
    title: 'both targets return 500 for ten minutes',
    minutes: 10,
    begin: provider({ kind: 'status', status: 500 }, 'both targets'),
    alarms: { '1 in 90 s': [FEW, 'no-healthy-target'], '1/s': NO_TARGET, '50/s': NO_TARGET },
  },
  {
    title: 'the first target returns 500, the second serves',
    minutes: 120,
    begin: provider({ kind: 'status', status: 500 }, 'first target'),
    alarms: always('failovers'),
  },
  {
    title: 'the first target returns 500 for ten minutes, the second serves',
    minutes: 10,
    begin: provider({ kind: 'status', status: 500 }, 'first target'),
    alarms: always(),
  },
  {
    title: 'the first target returns 429, the second serves',
    minutes: 120,
    begin: provider({ kind: 'status', status: 429 }, 'first target'),
    alarms: always('failovers'),
  },
  {
    title: "the first target's provider does not know the model, in words of its own",
    minutes: 120,
    sample: UNTIL_REPAIRED,
    begin: provider({ kind: 'status', status: 404 }, 'first target'),
    alarms: always('failovers', 'upstream-model-unknown'),
  },
  {
    title: "the first target's provider rejects the credential, the second serves",
    minutes: 240,
    sample: UNTIL_REPAIRED,
    begin: provider({ kind: 'status', status: 401 }, 'first target'),
    alarms: always('failovers', 'upstream-credential-refused'),
  },
  {
    title: "the first target's account has no money, the second serves",
    minutes: 120,
    sample: UNTIL_REPAIRED,
    begin: provider({ kind: 'status', status: 402 }, 'first target'),
    alarms: always('failovers', 'upstream-no-quota'),
  },
  {
    title: 'providers answer empty',
    minutes: 60,
    cycle: 1,
    begin: provider({ kind: 'blank' }, 'both targets'),
    alarms: always('empty-responses'),
  },
  {
    title: 'charges cannot be written, reservations can',
    minutes: 60,
    cycle: 1,
    begin: table('reset', settlement),
    awaits: 'ChargePending',
    alarms: always('charge-pending'),
  },
  {
    title: 'the table of kept responses is unreachable',
    minutes: 60,
    cycle: 1,
    begin: table('reset', isIn('answers')),
    asked: (index) => ({ headers: { 'idempotency-key': `key-${index}-${Math.random()}` } }),
    alarms: always('answers-not-kept'),
  },
  {
    title: 'the records table is unreachable',
    minutes: 60,
    cycle: 1,
    begin: table('reset', isIn('records')),
    awaits: 'RecordsLost',
    alarms: always('records-lost'),
  },
  {
    title: 'the meters table is unreachable',
    minutes: 60,
    cycle: 1,
    begin: table('reset', writeOfMeter),
    alarms: {
      '1 in 90 s': [FEW],
      '1/s': ['meter-unreachable', ...OUTAGE],
      '50/s': ['meter-unreachable', ...OUTAGE],
    },
  },
  {
    title: 'DynamoDB throttles every write of the meters',
    minutes: 60,
    cycle: 1,
    begin: table('throttled', writeOfMeter),
    alarms: { '1 in 90 s': [], '1/s': ['meters-throttled'], '50/s': ['meters-throttled'] },
  },
  {
    title: 'every invocation crashes',
    minutes: 60,
    byHand: [invocation(), { series: 'AWS/Lambda Errors RouterFunction', at: 0, value: 1 }],
    alarms: {
      '1 in 90 s': ['function-errors'],
      '1/s': ['function-errors', 'most-requests-fail', 'service-down'],
      '50/s': ['function-errors', 'most-requests-fail', 'service-down'],
    },
  },
  {
    title: 'Lambda throttles every request, as with the kill switch',
    minutes: 60,
    byHand: [{ series: 'AWS/Lambda Throttles RouterFunction', at: 0, value: 1 }],
    alarms: {
      '1 in 90 s': ['throttles'],
      '1/s': ['most-requests-fail', 'service-down', 'throttles'],
      '50/s': ['most-requests-fail', 'service-down', 'throttles'],
    },
  },
  {
    title: "the router's log yields no metrics",
    minutes: 180,
    byHand: [invocation()],
    alarms: always('metrics-missing'),
  },
  { title: 'no requests', minutes: 600, byHand: [], alarms: always() },
];
