import { Duration } from 'aws-cdk-lib';
import type { IMetric, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { type RouterMetrics, share, type Total } from './router-metrics.ts';
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
   * How many data points must be above it, out of how many. Out of more than it takes, the alarm lasts through gaps
   * between failures, instead of changing its state with each.
   * @default [1, 3]
   */
  points?: [count: number, of: number];
  /**
   * What a period without data means. A metric that is 0 is not written, and traffic may pause.
   * @default TreatMissingData.NOT_BREACHING
   */
  missing?: TreatMissingData;
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

/**
 * The requests that could succeed. A flood of 401s or 429s costs its sender nothing; counted as part of
 * the whole it would hide an outage of the others.
 */
export const servedOf = (metrics: RouterMetrics): Total => ({
  of: [metrics.inStage('Requests')],
  without: [metrics.inStage('Denied')],
});

/** Adds what writes no log line, so that `Requests` does not count it. */
export const plus = ({ of, without = [] }: Total, ...more: Metric[]): Total => ({
  of: [...of, ...more],
  without,
});

/** One in 10,000, in percent. */
const RARE = 0.01;

type Rare = {
  event: Metric;
  whole: Total;
  /** Events in 15 minutes. */
  atLeast: number;
  /**
   * Percent of the whole.
   * @default one in 10,000
   */
  above?: number;
  label: string;
};

/**
 * The share in percent of a rare event. At 1,000 requests per second a few in 15 minutes are usual, and
 * at a few requests per minute they are not: the alarm needs both the count and the share.
 */
export const rareShare = ({
  event,
  above = RARE,
  ...rest
}: Rare): Pick<AlarmSpec, 'metric' | 'above' | 'points'> => {
  const { whole, atLeast: atLeastPart, label } = rest;
  const part = { of: [event] };
  const period = Duration.minutes(15);
  return {
    metric: share({ part, whole, atLeast: 1, atLeastPart, period, label }),
    above,
    points: [1, 2],
  };
};
