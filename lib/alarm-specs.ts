import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, type Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { concurrencyOf, meterWrites, SUM } from './platform-metrics.ts';
import { type RouterMetrics, share, type Total, totalOf, variablesOf } from './router-metrics.ts';
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
  admin: LambdaFunction;
  /** Name of the meters table. */
  metersTable: string;
  metrics: RouterMetrics;
};

/**
 * The requests that could succeed. A flood of 401s or 429s costs its sender nothing; counted as part of
 * the whole it would hide an outage of the others.
 */
const servedOf = (metrics: RouterMetrics): Total => ({
  of: [metrics.inStage('Requests')],
  without: [metrics.inStage('Status401'), metrics.inStage('Status429')],
});

/** Adds what writes no log line, so that `Requests` does not count it. */
const plus = ({ of, without = [] }: Total, ...more: Metric[]): Total => ({
  of: [...of, ...more],
  without,
});

/**
 * 5xx without those of throttled items: one item is one key, and one busy key must not page. Its own
 * alarm is meters-throttled.
 */
const failedOf = (metrics: RouterMetrics): Total => ({
  of: [metrics.inStage('Status5xx')],
  without: [metrics.inStage('MeterThrottled')],
});

/**
 * The share in percent of a rare event. At 1,000 requests per second a few in five minutes are usual, and
 * at a few requests per minute they are not: the alarm needs both the count and the share.
 */
const rareShare = (event: Metric, whole: Total, atLeast: number, label: string): MathExpression =>
  share({ part: { of: [event] }, whole, atLeast: 1, atLeastPart: atLeast, label });

/** One in 10,000, in percent. */
const RARE = 0.01;

/** Failures that callers see. */
const requestAlarms = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
  const [served, failed] = [servedOf(metrics), failedOf(metrics)];
  // The function's Invocations would miss the Web Function's requests.
  const [crashed, throttled] = [router.metricErrors(SUM), router.metricThrottles(SUM)];
  return [
    {
      id: 'most-requests-fail',
      description: 'More than half of all requests fail.',
      metric: share({
        part: plus(failed, crashed, throttled),
        whole: plus(served, crashed, throttled),
        atLeast: 10,
        label: 'failed requests (%)',
      }),
      above: 50,
      notifies: false,
    },
    {
      id: 'server-errors',
      description: 'More than 5 % of requests get a 5xx response.',
      metric: share({ part: failed, whole: served, atLeast: 20, label: '5xx (%)' }),
      above: 5,
    },
    {
      id: 'function-errors',
      description: 'Invocations crash or time out.',
      metric: rareShare(crashed, plus(served, crashed), 3, 'crashes and timeouts (%)'),
      above: RARE,
    },
    {
      id: 'deadline-cuts',
      description: 'Responses are cut off at the deadline.',
      metric: rareShare(metrics.inStage('DeadlineCuts'), served, 5, 'cut at the deadline (%)'),
      above: 0.1,
    },
    {
      id: 'authentication-failures',
      description: 'More than half of at least 100 requests in 5 minutes have an invalid API key.',
      metric: share({
        part: { of: [metrics.inStage('Status401')] },
        whole: { of: [metrics.inStage('Requests')] },
        atLeast: 100,
        label: '401 (%)',
      }),
      above: 50,
    },
  ];
};

/** 403s in five minutes that a flagged prompt does not explain. */
const MIN_FORBIDDEN = 3;

/**
 * Rejected credentials. A 401 counts from the first: it opens the breaker of its target for 5 minutes, so
 * that no second one follows. A 403 counts from the third, because some providers return it for a prompt.
 */
const refusedCredentials = (metrics: RouterMetrics): MathExpression => {
  const refused: Total = { of: [metrics.inStage('UpstreamCredentialRefused')] };
  const forbidden: Total = { of: [metrics.inStage('UpstreamForbidden')] };
  const some = totalOf(forbidden);
  return new MathExpression({
    expression: `${totalOf(refused)}+IF(${some}>=${MIN_FORBIDDEN},${some},0)`,
    usingMetrics: variablesOf(refused, forbidden),
    period: Duration.minutes(5),
    label: 'rejected credentials',
  });
};

/** Providers and the router's credentials for them. */
const upstreamAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => [
  {
    id: 'no-healthy-target',
    description: 'All targets of a model are failing.',
    metric: rareShare(
      metrics.inStage('NoHealthyTarget'),
      servedOf(metrics),
      5,
      'without a healthy target (%)',
    ),
    above: RARE,
  },
  {
    id: 'upstream-credential-refused',
    description: "A provider rejects the router's credentials.",
    metric: refusedCredentials(metrics),
    above: 0,
  },
  {
    id: 'upstream-no-quota',
    description: "The router's account at a provider has no money or quota left.",
    metric: metrics.inStage('UpstreamNoQuota'),
    above: 0,
  },
  {
    id: 'upstream-model-unknown',
    description: 'A provider does not have a model or path that the catalog names.',
    metric: metrics.inStage('UpstreamModelUnknown'),
    above: 0,
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
    description: 'More than 10 % of requests get 503 because a DynamoDB table is unavailable.',
    metric: share({
      part: { of: [metrics.inStage('MeterUnreachable')] },
      whole: servedOf(metrics),
      atLeast: 10,
      label: 'rejected: table unavailable (%)',
    }),
    above: 10,
  },
  {
    id: 'meters-throttled',
    description: 'More than 20 % of requests get 503 because DynamoDB throttles writes.',
    metric: share({
      part: { of: [metrics.inStage('MeterThrottled')] },
      whole: servedOf(metrics),
      atLeast: 50,
      label: 'rejected: throttled (%)',
    }),
    above: 20,
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
    description: 'Metered units could not be refunded.',
    metric: rareShare(metrics.inStage('RefundPending'), servedOf(metrics), 3, 'not refunded (%)'),
    above: RARE,
  },
];

const capacityAlarms = (sources: AlarmSources): AlarmSpec[] => {
  const { used, limit } = concurrencyOf(sources);
  const throttled = sources.router.metricThrottles(SUM);
  return [
    {
      id: 'throttles',
      description: 'Lambda throttles requests: the concurrency limit is reached.',
      metric: rareShare(throttled, plus(servedOf(sources.metrics), throttled), 5, 'throttled (%)'),
      above: 0.1,
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

/** Records of requests and what is made of them. */
const historyAlarms = ({ metrics, admin }: AlarmSources): AlarmSpec[] => [
  {
    id: 'records-lost',
    description: 'Records of requests could not be written.',
    metric: rareShare(metrics.inStage('RecordsLost'), servedOf(metrics), 3, 'without a record (%)'),
    above: RARE,
  },
  {
    id: 'history-differs',
    description: 'Closed periods of meters and the records of their requests differ.',
    metric: metrics.inStage('HistoryDiffers'),
    above: 0,
  },
  {
    id: 'history-failed',
    description: 'The hourly run that brings the history up to date fails.',
    // The admin function answers every request of an operator; only the schedule sees an error.
    metric: admin.metricErrors(SUM),
    above: 0,
  },
];

/** Returns all alarms of a stage except the composite alarm. */
export const alarmSpecs = (sources: AlarmSources): AlarmSpec[] => [
  ...requestAlarms(sources),
  ...upstreamAlarms(sources),
  ...meterAlarms(sources),
  ...historyAlarms(sources),
  ...capacityAlarms(sources),
];
