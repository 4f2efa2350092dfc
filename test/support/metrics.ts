import * as z from 'zod';
import { type MetricName, SCOPES } from '../../lambdas/metrics.ts';
import type { DataPoint } from './alarm-states.ts';

/** Every metric once. */
export const METRIC_NAMES: MetricName[] = [
  ...new Set(Object.values(SCOPES).flatMap<MetricName>(({ metrics }) => metrics)),
];

/** The part of CloudWatch's embedded metric format that makes metrics. */
const Emf = z.looseObject({
  _aws: z.strictObject({
    Timestamp: z.int().positive(),
    CloudWatchMetrics: z
      .array(
        z.strictObject({
          Namespace: z.literal('ModelRouter'),
          Dimensions: z.array(z.array(z.string()).min(1)).min(1),
          Metrics: z.array(z.strictObject({ Name: z.string(), Unit: z.string() })).min(1),
        }),
      )
      .min(1),
  }),
});

/** One data point for each metric of each line, in the order written. */
export const pointsIn = (lines: string[]): DataPoint[] =>
  lines
    .filter((text) => text.includes('"_aws"'))
    .flatMap((line) => {
      const { _aws, ...root } = Emf.parse(JSON.parse(line));
      return _aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
        Dimensions.flatMap((names) => {
          const labels = names.map((name) => `${name}=${z.string().parse(root[name])}`);
          return Metrics.map(({ Name }) => ({
            series: [Namespace, Name, ...labels].join(' '),
            at: _aws.Timestamp,
            value: z.number().parse(root[Name]),
          }));
        }),
      );
    });

/** Sums by series, as CloudWatch would have them: `Name{dimension=value …}` -> value. */
export const seriesIn = (lines: string[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const line of lines.filter((text) => text.includes('"_aws"'))) {
    const { _aws, ...root } = Emf.parse(JSON.parse(line));
    const sets = _aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
      Dimensions.flatMap((names) => Metrics.map(({ Name }) => ({ names, Name }))),
    );
    for (const { names, Name } of sets) {
      const labels = names.map((name) => `${name}=${z.string().parse(root[name])}`);
      const series = `${Name}{${labels.join(' ')}}`;
      sums[series] = (sums[series] ?? 0) + z.number().parse(root[Name]);
    }
  }
  return sums;
};
