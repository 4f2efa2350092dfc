import { type DimensionName, type MetricName, NAMESPACE, SCOPES, unitOf } from '../metrics.ts';

/** Metrics of one request, or of one event outside of any: what it was about and how much of what. */
export type Point = {
  labels: Partial<Record<Exclude<DimensionName, 'Stage'>, string>>;
  values: Partial<Record<MetricName, number>>;
};

/**
 * One line from which CloudWatch makes metrics, without a call and without an SDK. `_aws` must stay at
 * the top level, so the line goes to stdout as it is: Lambda wraps what `console.log` prints.
 */
export const formatEmf = (stage: string, { labels, values }: Point, now: number): string => {
  const known = { Stage: stage, ...labels };
  const directives = Object.values(SCOPES).flatMap(({ dimensions, metrics }) => {
    const written = metrics.filter((name: MetricName) => values[name] !== undefined);
    const applies = written.length > 0 && dimensions.every((name) => name in known);
    if (!applies) return [];
    const Metrics = written.map((name) => ({ Name: name, Unit: unitOf(name) }));
    return [{ Namespace: NAMESPACE, Dimensions: [dimensions], Metrics }];
  });
  const _aws = { Timestamp: now, CloudWatchMetrics: directives };
  return `${JSON.stringify({ _aws, ...known, ...values })}\n`;
};
