import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type DimensionName, type MetricIn, NAMESPACE, type Scope } from '../lambdas/metrics.ts';

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
    byTarget: read<'target' | 'quota', { Model: string; Upstream: string }>('target'),
  };
};
export type RouterMetrics = ReturnType<typeof createRouterMetrics>;

/** Metrics to add, and metrics to subtract. */
export type Total = { of: Metric[]; without?: Metric[] };

export type ShareOptions = {
  part: Total;
  whole: Total;
  /** Percent that the share may be. */
  above: number;
  /** Minimum of `whole`: one failed request at night is not a 100 % outage. @default 1 */
  atLeast?: number;
  /** Minimum of `part`. @default 0 */
  atLeastPart?: number;
  /** What `whole` must be below. @default none */
  below?: number;
  /** @default Duration.minutes(5) */
  period?: Duration;
  label: string;
};

/** Name of a metric in an expression, which must begin with a lower-case letter. */
const variableOf = ({ metricName }: Metric): string =>
  `${metricName.charAt(0).toLowerCase()}${metricName.slice(1)}`;

/** Missing data is 0: a metric that is 0 is not written. */
const filled = (one: Metric): string => `FILL(${variableOf(one)},0)`;

export const totalOf = ({ of, without = [] }: Total): string =>
  `(${[of.map(filled).join('+'), ...without.map(filled)].join('-')})`;

/** Variables of an expression; a metric of several totals is one variable, so it is paid for once. */
export const variablesOf = (...totals: Total[]): Record<string, Metric> =>
  Object.fromEntries(
    totals
      .flatMap(({ of, without = [] }) => [...of, ...without])
      .map((one) => [variableOf(one), one]),
  );

/**
 * Returns `part` as a percentage of `whole`. A share above the limit of too few, or of none, yields no data point: it shows
 * neither a failure nor its end. CloudWatch drops what is divided by 0.
 */
export const share = (options: ShareOptions): MathExpression => {
  const {
    above,
    atLeast = 1,
    atLeastPart = 0,
    below,
    period = Duration.minutes(5),
    label,
  } = options;
  const [part, whole] = [totalOf(options.part), totalOf(options.whole)];
  const bounds = [
    `${whole}>=${atLeast}`,
    ...(atLeastPart > 0 ? [`${part}>=${atLeastPart}`] : []),
    ...(below === undefined ? [] : [`${whole}<${below}`]),
  ];
  const counts = `(${bounds.join(' AND ')}) OR 100*${part}<=${above}*${whole}`;
  return new MathExpression({
    expression: `100*${part}/IF(${counts},${whole},0)`,
    usingMetrics: variablesOf(options.part, options.whole),
    period,
    label,
  });
};
