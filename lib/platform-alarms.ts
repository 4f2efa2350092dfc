import {
  type AlarmSources,
  type AlarmSpec,
  plus,
  RARE,
  rareShare,
  servedOf,
} from './alarm-specs.ts';
import { concurrencyOf, meterWrites, SUM } from './platform-metrics.ts';
import { share } from './router-metrics.ts';

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

/** Alarms on the platform: the tables, the history, Lambda. */
export const platformAlarms = (sources: AlarmSources): AlarmSpec[] => [
  ...meterAlarms(sources),
  ...historyAlarms(sources),
  ...capacityAlarms(sources),
];
