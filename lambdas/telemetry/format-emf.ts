import { type DimensionName, type MetricName, NAMESPACE, SCOPES, unitOf } from '../metrics.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { oncePer } from '../support/once-per.ts';

/** Metrics of one request, or of one event outside of any: what it was about and how much of what. */
export type Point = {
  labels: Partial<Record<Exclude<DimensionName, 'Stage'>, string>>;
  values: Partial<Record<MetricName, number>>;
};

/** What CloudWatch has to know about the members of a line, as JSON. */
const directivesOf = (members: string[]): string => {
  const directives = Object.values(SCOPES).flatMap(({ dimensions, metrics }) => {
    const written = metrics.filter((name: MetricName) => members.includes(name));
    const applies = written.length > 0 && dimensions.every((name) => members.includes(name));
    if (!applies) return [];
    const Metrics = written.map((name) => ({ Name: name, Unit: unitOf(name) }));
    return [{ Namespace: NAMESPACE, Dimensions: [dimensions], Metrics }];
  });
  return JSON.stringify(directives);
};

/** Sets of metrics that lines have in practice are about ten. */
const MAX_FORMS = 100;

export type FormatEmf = (point: Point, now: number) => string;

/**
 * Formats one line from which CloudWatch makes metrics, without a call and without an SDK. `_aws` must stay at
 * the top level, so the line goes to stdout unchanged: Lambda wraps what `console.log` prints. Lines of the same
 * members have the same directives, which are most of the line: they are kept as text.
 */
export const createFormatEmf = (stage: string): FormatEmf => {
  const directivesFor = oncePer(createLruCache<string>(MAX_FORMS), (names) =>
    directivesOf(names.split(',')),
  );
  return ({ labels, values }, now) => {
    const members = { Stage: stage, ...labels, ...values };
    const directives = directivesFor(Object.keys(members).join());
    const rest = JSON.stringify(members).slice(1);
    return `{"_aws":{"Timestamp":${now},"CloudWatchMetrics":${directives}},${rest}\n`;
  };
};
