import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type DimensionName, type MetricIn, NAMESPACE, type Scope } from '../lambdas/metrics.ts';

/** How a metric is aggregated and labelled. */
export type Reading = {
  /** @default 'Sum' */
  statistic?: string;
  /** @default Duration.minutes(5) */
  period?: Duration;
  /** @default the metric's name */
  label?: string;
};

type Labels = Partial<Record<DimensionName, string>>;

const metric = (name: string, dimensionsMap: Labels, reading: Reading): Metric =>
  new Metric({
    namespace: NAMESPACE,
    metricName: name,
    dimensionsMap,
    statistic: 'Sum',
    period: Duration.minutes(5),
    ...reading,
  });

/**
 * Returns the router's metrics of one stage. Each metric is readable only with the dimensions that
 * the router writes it with; other combinations do not compile.
 */
export const createRouterMetrics = (stage: string) => {
  const read =
    <S extends Scope, Required extends Labels>(_scope: S) =>
    (name: MetricIn<S>, labels: Required, reading: Reading = {}): Metric =>
      metric(name, { Stage: stage, ...labels }, reading);
  const inStage = read<'stage', Record<never, string>>('stage');
  return {
    inStage: (name: MetricIn<'stage'>, reading?: Reading) => inStage(name, {}, reading),
    byRoute: read<'route', { Route: string }>('route'),
    byModel: read<'model', { Model: string }>('model'),
    byTarget: read<'target', { Model: string; Upstream: string }>('target'),
  };
};
export type RouterMetrics = ReturnType<typeof createRouterMetrics>;

type ShareOptions = {
  part: Metric[];
  whole: Metric[];
  /** Minimum of `whole` for a share above 0: one failed request at night is not a 100 % outage. */
  atLeast: number;
  label: string;
};

const summed = (metrics: Metric[], prefix: string) => ({
  sum: metrics.map((_, index) => `FILL(${prefix}${index},0)`).join('+'),
  using: Object.fromEntries(metrics.map((one, index) => [`${prefix}${index}`, one])),
});

/** Returns `part` as a percentage of `whole`, or 0 while `whole` is below `atLeast`. */
export const share = ({ part, whole, atLeast, label }: ShareOptions): MathExpression => {
  const parts = summed(part, 'part');
  const all = summed(whole, 'whole');
  return new MathExpression({
    expression: `IF((${all.sum})>=${atLeast},100*(${parts.sum})/(${all.sum}),0)`,
    usingMetrics: { ...parts.using, ...all.using },
    period: Duration.minutes(5),
    label,
  });
};
