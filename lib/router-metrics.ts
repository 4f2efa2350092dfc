import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type DimensionName, type MetricIn, NAMESPACE, type Scope } from '../lambdas/metrics.ts';

/** `Sum`, `p95`, … and the span of one point. */
export type Reading = { statistic?: string; period?: Duration; label?: string };

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

/** The router's own metrics of one stage, each only under the labels that it is written with. */
export const createRouterMetrics = (stage: string) => {
  const read =
    <S extends Scope, Given extends Labels>(_scope: S) =>
    (name: MetricIn<S>, labels: Given, reading: Reading = {}): Metric =>
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
  /** Fewer than this say nothing: one failure in the night is no 100 %. */
  atLeast: number;
  label: string;
};

const summed = (metrics: Metric[], prefix: string) => ({
  sum: metrics.map((_, at) => `FILL(${prefix}${at},0)`).join('+'),
  using: Object.fromEntries(metrics.map((one, at) => [`${prefix}${at}`, one])),
});

/** Per cent of `whole` that `part` is, and 0 where too few happened. */
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
