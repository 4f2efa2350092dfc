import { Duration } from 'aws-cdk-lib';
import { MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type AlarmSources,
  type AlarmSpec,
  plus,
  rareAlarm,
  servedOf,
  shareAlarm,
} from './alarm-specs.ts';
import { concurrencyOf, meterWrites, SUM } from './platform-metrics.ts';
import { totalOf, variablesOf } from './router-metrics.ts';

/** The meters table. Requests that cannot be metered are rejected with 503. */
const meterAlarms = ({ metrics, metersTable }: AlarmSources): AlarmSpec[] => [
  {
    id: 'meter-unreachable',
    description: 'More than 10 % of requests get 503 because a DynamoDB table is unavailable.',
    ...shareAlarm({
      part: { of: [metrics.inStage('MeterUnreachable')] },
      whole: servedOf(metrics),
      above: 10,
      atLeast: 10,
      label: 'rejected: table unavailable (%)',
    }),
  },
  {
    id: 'meters-throttled',
    description: 'More than 20 % of requests get 503 because DynamoDB throttles writes.',
    ...shareAlarm({
      part: { of: [metrics.inStage('MeterThrottled')] },
      whole: servedOf(metrics),
      above: 20,
      atLeast: 50,
      label: 'rejected: throttled (%)',
    }),
  },
  {
    id: 'meters-slow',
    description: 'p99 latency of writes to the meters table is above 100 ms.',
    metric: meterWrites(metersTable, 'SuccessfulRequestLatency', 'p99'),
    above: 100,
    points: [3, 3],
  },
];

/** What could not be written, although the request was served: [id, metric, what failed, label]. */
const UNWRITTEN = [
  ['refund-pending', 'RefundPending', 'Metered units could not be refunded.', 'not refunded (%)'],
  ['charge-pending', 'ChargePending', 'Responses could not be charged.', 'not charged (%)'],
  [
    'answers-not-kept',
    'AnswersNotKept',
    'Responses could not be kept for repeats of their requests.',
    'not kept (%)',
  ],
  ['records-lost', 'RecordsLost', 'Records of requests could not be written.', 'no record (%)'],
] as const;

const writeAlarms = (sources: AlarmSources): AlarmSpec[] =>
  UNWRITTEN.map(([id, event, description, label]) =>
    rareAlarm(sources)({ id, event, description, label, atLeast: 3 }),
  );

const capacityAlarms = (sources: AlarmSources): AlarmSpec[] => {
  const { used, limit } = concurrencyOf(sources);
  const throttled = sources.router.metricThrottles(SUM);
  return [
    rareAlarm(sources)({
      id: 'throttles',
      description: 'Lambda throttles requests: the concurrency limit is reached.',
      event: throttled,
      whole: plus(servedOf(sources.metrics), throttled),
      ...{ atLeast: 5, above: 0.1, label: 'throttled (%)' },
    }),
    {
      id: 'concurrency',
      description: 'Concurrency is above 80 % of its limit.',
      metric: used,
      above: Math.floor(limit * 0.8),
      points: [3, 5],
    },
  ];
};

const HOUR = Duration.hours(1);

/** Statements, which an hourly run makes of records and meters. */
const historyAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => [
  {
    id: 'history-differs',
    description: 'Closed periods of meters and the records of their requests differ.',
    metric: metrics.inStage('HistoryDiffers', { period: HOUR }),
    above: 0,
    // The next run may find the same failure in another project.
    points: [1, 2],
  },
  {
    id: 'history-failed',
    description: 'For two hours no run has brought the history up to date.',
    metric: new MathExpression({
      expression: 'IF(FILL(historyRuns,0)>0,0,1)',
      usingMetrics: { historyRuns: metrics.inStage('HistoryRuns') },
      period: HOUR,
      label: 'hours without a run',
    }),
    above: 0,
    // Two runs are up to an hour and 15 minutes apart.
    points: [2, 2],
    // A run that does not start writes nothing.
    missing: TreatMissingData.BREACHING,
  },
];

const TODAY = '(YEAR(historyRuns)*10000+MONTH(historyRuns)*100+DATE(historyRuns))';
const NOTICE_MS = 30 * 86_400_000;

/** `2026-12-11` as 20261211: what the functions of a period's date add up to. */
const dateNumber = (instant: number): string =>
  new Date(instant).toISOString().slice(0, 10).replaceAll('-', '');

/**
 * One for each day on which models are retired: it fires 30 days before, and ends on that day. It reads nothing but the
 * date of the periods of a metric that each hour has.
 */
const retirementAlarms = ({ models, metrics }: AlarmSources): AlarmSpec[] =>
  [...Map.groupBy(models, ({ retires = '' }) => retires)]
    .filter(([day]) => day !== '')
    .map(([day, retiring]) => ({
      id: `model-retiring-${day}`,
      runbook: 'model-retiring',
      description: `On ${day} models are retired: ${retiring
        .map(({ id }) => id)
        .join(', ')
        .slice(0, 400)}.`,
      metric: new MathExpression({
        expression: `IF(${TODAY}>=${dateNumber(Date.parse(day) - NOTICE_MS)} AND ${TODAY}<${dateNumber(Date.parse(day))},1,0)`,
        usingMetrics: { historyRuns: metrics.inStage('HistoryRuns') },
        period: HOUR,
        label: `30 days before ${day}`,
      }),
      above: 0,
      points: [1, 1],
      missing: TreatMissingData.IGNORE,
    }));

/**
 * All other alarms read what CloudWatch extracts from the router's log, and keep their state without it. A request is counted
 * at its end, up to 15 minutes after its invocation: within the second of two periods.
 */
const metricsMissing = ({ router, metrics }: AlarmSources): AlarmSpec => {
  const ended = { of: [router.metricInvocations(SUM)], without: [router.metricErrors(SUM)] };
  const counted = { of: [metrics.inStage('Requests')] };
  const [some, known] = [totalOf(ended), totalOf(counted)];
  return {
    id: 'metrics-missing',
    description: 'The router is invoked, and its log yields no metrics: no other alarm can fire.',
    metric: new MathExpression({
      // Without any invocation there is no data point.
      expression: `IF(${known}>0,0,1)/IF(${known}>0 OR ${some}>0,1,0)`,
      usingMetrics: variablesOf(ended, counted),
      period: Duration.minutes(30),
      label: 'invocations without metrics',
    }),
    above: 0,
    points: [2, 2],
    missing: TreatMissingData.IGNORE,
  };
};

export const platformAlarms = (sources: AlarmSources): AlarmSpec[] => [
  ...meterAlarms(sources),
  ...writeAlarms(sources),
  ...historyAlarms(sources),
  ...retirementAlarms(sources),
  ...capacityAlarms(sources),
  metricsMissing(sources),
];
