import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { concurrencyOf, meterWrites, SUM } from './platform-metrics.ts';
import { type RouterMetrics, share } from './router-metrics.ts';
import type { Stage } from './stage.ts';

/** One alarm. `id` is also the anchor of its runbook in docs/operations.md. */
export type AlarmSpec = {
  id: string;
  /** What failed: the first line of the alarm's description and of its e-mail. */
  description: string;
  metric: IMetric;
  /** Rings above this. */
  above: number;
  /** Points above it, of how many; 1 of 1 unless given. */
  points?: [count: number, of: number];
  /**
   * Whether the alarm notifies the topic; false for an input of the composite alarm.
   * @default true
   */
  notifies?: boolean;
};

export type AlarmSources = {
  stage: Stage;
  router: LambdaFunction;
  metersTable: string;
  metrics: RouterMetrics;
};

/** What the caller sees fail. */
const ofRequests = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
  const requests = metrics.inStage('Requests');
  const failed = metrics.inStage('Status5xx');
  const crashed = router.metricErrors(SUM);
  const throttled = router.metricThrottles(SUM);
  return [
    {
      id: 'most-requests-fail',
      description: 'More than half of all requests fail.',
      metric: share({
        part: [failed, crashed, throttled],
        // Not the function's invocations: a Web Function's requests are none. What crashed or was throttled
        // wrote no line of its own.
        whole: [requests, crashed, throttled],
        atLeast: 10,
        label: 'failed requests (%)',
      }),
      above: 50,
      notifies: false,
    },
    {
      id: 'server-errors',
      description: 'More than 5 % of requests are answered with a 5xx.',
      metric: share({ part: [failed], whole: [requests], atLeast: 20, label: '5xx (%)' }),
      above: 5,
    },
    {
      id: 'function-errors',
      description: 'Invocations end in a crash or a timeout instead of an answer.',
      metric: crashed,
      above: 2,
    },
    {
      id: 'deadline-cuts',
      description: 'Answers are cut off because their time was up.',
      metric: metrics.inStage('DeadlineCuts'),
      above: 4,
    },
    {
      id: 'authentication-failures',
      description: 'More than half of at least 100 requests in five minutes come with a wrong key.',
      metric: share({
        part: [metrics.inStage('Status401')],
        whole: [requests],
        atLeast: 100,
        label: '401 (%)',
      }),
      above: 50,
    },
  ];
};

/** Providers, and the credentials for them. */
const ofUpstreams = ({ metrics }: AlarmSources): AlarmSpec[] => [
  {
    id: 'no-healthy-target',
    description: 'A model has no provider that answers.',
    metric: metrics.inStage('NoHealthyTarget'),
    above: 4,
  },
  {
    id: 'upstream-credential-refused',
    description: 'A provider refuses the credential of the router.',
    metric: metrics.inStage('UpstreamCredentialRefused'),
    above: 2,
  },
  {
    id: 'secret-fetch-failed',
    description: 'The secret with the credentials of the providers cannot be read, or lacks one.',
    metric: metrics.inStage('SecretFetchFailed'),
    above: 0,
  },
];

/** The counters: without them nobody is let in. */
const ofMeters = ({ metrics, metersTable }: AlarmSources): AlarmSpec[] => [
  {
    id: 'meter-unreachable',
    description: 'Requests are refused because a table does not answer.',
    metric: metrics.inStage('MeterUnreachable'),
    above: 2,
  },
  {
    id: 'meters-throttled',
    description: 'DynamoDB throttles the writes of the counters.',
    metric: meterWrites(metersTable, 'ThrottledRequests', 'Sum'),
    above: 9,
  },
  {
    id: 'meters-slow',
    description: 'One in a hundred writes of the counters takes more than 100 ms.',
    metric: meterWrites(metersTable, 'SuccessfulRequestLatency', 'p99'),
    above: 100,
    points: [3, 3],
  },
  {
    id: 'refund-pending',
    description: 'A unit could not be given back to its caller.',
    metric: metrics.inStage('RefundPending'),
    above: 0,
  },
];

const ofCapacity = (watched: AlarmSources): AlarmSpec[] => {
  const { used, limit } = concurrencyOf(watched);
  return [
    {
      id: 'throttles',
      description: 'Lambda refuses requests because too many are under way.',
      metric: watched.router.metricThrottles(SUM),
      above: 0,
    },
    {
      id: 'concurrency',
      description: 'More than 80 % of the requests that may be under way at once are.',
      metric: used,
      above: Math.floor(limit * 0.8),
      points: [3, 5],
    },
  ];
};

/** All alarms of a stage but the composite. */
export const alarmSpecs = (watched: AlarmSources): AlarmSpec[] => [
  ...ofRequests(watched),
  ...ofUpstreams(watched),
  ...ofMeters(watched),
  ...ofCapacity(watched),
];
