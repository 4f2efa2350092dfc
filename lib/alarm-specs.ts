import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { concurrencyOf, meterWrites, SUM } from './platform-metrics.ts';
import { type RouterMetrics, share } from './router-metrics.ts';
import type { Stage } from './stage.ts';

/** One metric alarm. */
export type AlarmSpec = {
  /** End of the alarm's name, and anchor of its runbook in docs/operations.md. */
  id: string;
  /** What failed: the first line of the alarm's description and of its e-mail. */
  description: string;
  metric: IMetric;
  /** The alarm fires above this value. */
  above: number;
  /**
   * How many data points must be above it, out of how many.
   * @default [1, 1]
   */
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
  /** Name of the meters table. */
  metersTable: string;
  metrics: RouterMetrics;
};

/** Failures that callers see. */
const requestAlarms = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
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
        // The function's Invocations would miss the Web Function's requests. Crashed and throttled
        // requests are added because they write no log line, so `Requests` does not count them.
        whole: [requests, crashed, throttled],
        atLeast: 10,
        label: 'failed requests (%)',
      }),
      above: 50,
      notifies: false,
    },
    {
      id: 'server-errors',
      description: 'More than 5 % of requests get a 5xx response.',
      metric: share({ part: [failed], whole: [requests], atLeast: 20, label: '5xx (%)' }),
      above: 5,
    },
    {
      id: 'function-errors',
      description: 'Invocations crash or time out.',
      metric: crashed,
      above: 2,
    },
    {
      id: 'deadline-cuts',
      description: 'Responses are cut off at the deadline.',
      metric: metrics.inStage('DeadlineCuts'),
      above: 4,
    },
    {
      id: 'authentication-failures',
      description: 'More than half of at least 100 requests in 5 minutes have an invalid API key.',
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

/** Providers and the router's credentials for them. */
const upstreamAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => [
  {
    id: 'no-healthy-target',
    description: 'All targets of a model are failing.',
    metric: metrics.inStage('NoHealthyTarget'),
    above: 4,
  },
  {
    id: 'upstream-credential-refused',
    description: "A provider rejects the router's credentials.",
    metric: metrics.inStage('UpstreamCredentialRefused'),
    above: 2,
  },
  {
    id: 'secret-fetch-failed',
    description:
      'The provider-credentials secret cannot be read, or a credential is missing from it.',
    metric: metrics.inStage('SecretFetchFailed'),
    above: 0,
  },
];

/** The meters table. Requests that cannot be metered are rejected with 503. */
const meterAlarms = ({ metrics, metersTable }: AlarmSources): AlarmSpec[] => [
  {
    id: 'meter-unreachable',
    description: 'Requests get 503 because a DynamoDB table is unavailable.',
    metric: metrics.inStage('MeterUnreachable'),
    above: 2,
  },
  {
    id: 'meters-throttled',
    description: 'DynamoDB throttles writes to the meters table.',
    metric: meterWrites(metersTable, 'ThrottledRequests', 'Sum'),
    above: 9,
  },
  {
    id: 'meters-slow',
    description: 'p99 latency of writes to the meters table is above 100 ms.',
    metric: meterWrites(metersTable, 'SuccessfulRequestLatency', 'p99'),
    above: 100,
    points: [3, 3],
  },
  {
    id: 'refund-pending',
    description: 'A metered unit could not be refunded.',
    metric: metrics.inStage('RefundPending'),
    above: 0,
  },
];

const capacityAlarms = (sources: AlarmSources): AlarmSpec[] => {
  const { used, limit } = concurrencyOf(sources);
  return [
    {
      id: 'throttles',
      description: 'Lambda throttles requests: the concurrency limit is reached.',
      metric: sources.router.metricThrottles(SUM),
      above: 0,
    },
    {
      id: 'concurrency',
      description: 'Concurrency is above 80 % of its limit.',
      metric: used,
      above: Math.floor(limit * 0.8),
      points: [3, 5],
    },
  ];
};

/** Returns all alarms of a stage except the composite alarm. */
export const alarmSpecs = (sources: AlarmSources): AlarmSpec[] => [
  ...requestAlarms(sources),
  ...upstreamAlarms(sources),
  ...meterAlarms(sources),
  ...capacityAlarms(sources),
];
