import { Duration } from 'aws-cdk-lib';
import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { AlarmSources } from './alarm-specs.ts';
import type { ProductSources } from './dashboard-product.ts';
import { THIRD, TWO_THIRDS, third } from './dashboard-widgets.ts';
import { concurrencyOf, meterWrites, SUM } from './platform-metrics.ts';

export type PlatformSources = ProductSources &
  AlarmSources & {
    restApi: RestApi;
    /** Memory of the router function, for the cost graphs. */
    memoryMb: number;
  };

/** Price of arm64 in us-east-1; other regions differ by up to a third. */
const DOLLARS_PER_GB_SECOND = 0.0000133334;
const DOLLARS_PER_MILLION_REQUESTS = 0.2;

const meterRow = ({ metrics, metersTable }: PlatformSources): cloudwatch.IWidget[] => {
  const deniedWrites = new cloudwatch.Metric({
    namespace: 'AWS/DynamoDB',
    metricName: 'ConditionalCheckFailedRequests',
    dimensionsMap: { TableName: metersTable },
    ...SUM,
    label: 'denied by a limit',
  });
  const latency = (statistic: string) =>
    meterWrites(metersTable, 'SuccessfulRequestLatency', statistic).with({ label: statistic });
  return [
    third('Metering', [
      metrics.inStage('MeterUnreachable', { label: 'meter unreachable' }),
      metrics.inStage('MeterThrottled', { label: 'rejected: throttled' }),
      metrics.inStage('RefundPending', { label: 'refunds pending' }),
      metrics.inStage('ChargePending', { label: 'charges pending' }),
      metrics.inStage('AnswersNotKept', { label: 'responses not kept' }),
      metrics.inStage('SecretFetchFailed', { label: 'secret fetch failed' }),
      metrics.inStage('RecordsLost', { label: 'records lost' }),
      metrics.inStage('HistoryRuns', { label: 'history runs' }),
      metrics.inStage('HistoryDiffers', { label: 'history differs' }),
    ]),
    third('DynamoDB: latency of meter writes (ms)', [latency('p50'), latency('p99')]),
    third(
      'DynamoDB: throttled and denied writes',
      [meterWrites(metersTable, 'ThrottledRequests', 'Sum').with({ label: 'throttled' })],
      [deniedWrites],
    ),
  ];
};

const concurrencyGraph = (sources: PlatformSources): cloudwatch.GraphWidget => {
  const { used, limit } = concurrencyOf(sources);
  return new cloudwatch.GraphWidget({
    title: 'Concurrency and its limit',
    left: [used.with({ label: 'in flight' })],
    leftAnnotations: [
      { value: limit, label: 'limit' },
      { value: Math.floor(limit * 0.8), label: 'alarm' },
    ],
    ...THIRD,
  });
};

const functionRow = (sources: PlatformSources): cloudwatch.IWidget[] => {
  const { router, restApi, metrics } = sources;
  const stage = restApi.deploymentStage;
  const url = (metricName: string, label: string) => router.metric(metricName, { ...SUM, label });
  return [
    concurrencyGraph(sources),
    third('Function: crashes, timeouts, throttles', [
      router.metricErrors({ ...SUM, label: 'crashes and timeouts' }),
      router.metricThrottles({ ...SUM, label: 'throttles' }),
    ]),
    third('Public endpoints', [
      url('UrlRequestCount', 'Function URL'),
      url('Url5xxCount', 'Function URL 5xx'),
      stage.metricCount({ ...SUM, label: 'REST API' }),
      stage.metricServerError({ ...SUM, label: 'REST API 5xx' }),
      metrics.inStage('Denied', { label: 'of all: 401 or 429' }),
    ]),
  ];
};

/** Lambda bills the whole duration of each stream: 90 % of the bill at one minute per response. */
const costRow = ({ router, memoryMb }: PlatformSources): cloudwatch.IWidget[] => {
  const hour = { statistic: 'Sum', period: Duration.hours(1) };
  const gbSeconds = new cloudwatch.MathExpression({
    expression: `duration/1000*${memoryMb / 1024}`,
    usingMetrics: { duration: router.metricDuration(hour) },
    period: hour.period,
    label: 'GB-seconds per hour',
  });
  const dollars = new cloudwatch.MathExpression({
    expression: `duration/1000*${memoryMb / 1024}*${DOLLARS_PER_GB_SECOND}+invocations/1000000*${DOLLARS_PER_MILLION_REQUESTS}`,
    usingMetrics: {
      duration: router.metricDuration(hour),
      invocations: router.metricInvocations(hour),
    },
    period: hour.period,
    label: 'US dollars per hour (us-east-1)',
  });
  return [
    new cloudwatch.GraphWidget({
      title: 'Cost of the function',
      left: [gbSeconds],
      right: [dollars],
      ...TWO_THIRDS,
    }),
    new cloudwatch.SingleValueWidget({
      title: 'Last hour',
      metrics: [gbSeconds, dollars],
      ...THIRD,
    }),
  ];
};

export const platformRows = (sources: PlatformSources): cloudwatch.IWidget[][] => [
  meterRow(sources),
  functionRow(sources),
  costRow(sources),
];
