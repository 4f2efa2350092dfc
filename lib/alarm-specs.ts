import type { IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
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
export const servedOf = (metrics: RouterMetrics): Total => ({
  of: [metrics.inStage('Requests')],
  without: [metrics.inStage('Status401'), metrics.inStage('Status429')],
});

/** Adds what writes no log line, so that `Requests` does not count it. */
export const plus = ({ of, without = [] }: Total, ...more: Metric[]): Total => ({
  of: [...of, ...more],
  without,
});

/**
 * The share in percent of a rare event. At 1,000 requests per second a few in five minutes are usual, and
 * at a few requests per minute they are not: the alarm needs both the count and the share.
 */
export const rareShare = (
  event: Metric,
  whole: Total,
  atLeast: number,
  label: string,
): MathExpression =>
  share({ part: { of: [event] }, whole, atLeast: 1, atLeastPart: atLeast, label });

/** One in 10,000, in percent. */
export const RARE = 0.01;
