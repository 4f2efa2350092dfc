import { type DimensionName, type MetricName, NAMESPACE, SCOPES, unitOf } from '../metrics.ts';
import { createLruCache, oncePer } from '../support/memo.ts';

/** Metrics of one request, or of one event outside of any: what it was about and how much of what. */
export type Point = {
  labels: Partial<Record<Exclude<DimensionName, 'Stage'>, string>>;
  values: Partial<Record<MetricName, number>>;
};

/** What CloudWatch has to know about the members of a line, as JSON. Sets of dimensions with the same metrics share a row. */
const directivesOf = (members: string[]): string => {
  const rows = new Map<string, (readonly string[])[]>();
  for (const { dimensions, metrics } of Object.values(SCOPES)) {
    const written = metrics.filter((name: MetricName) => members.includes(name));
    const applies = written.length > 0 && dimensions.every((name) => members.includes(name));
    if (!applies) continue;
    const row = JSON.stringify(written.map((name) => ({ Name: name, Unit: unitOf(name) })));
    rows.set(row, [...(rows.get(row) ?? []), dimensions]);
  }
  const directives = [...rows].map(
    ([row, sets]) =>
      `{"Namespace":"${NAMESPACE}","Dimensions":${JSON.stringify(sets)},"Metrics":${row}}`,
  );
  return `[${directives.join()}]`;
};

/** Sets of metrics that lines have in practice are about ten. */
const MAX_FORMS = 100;

/** `facts` are the other members of the line. */
export type FormatEmf = (point: Point, now: number, facts?: Record<string, unknown>) => string;

/**
 * Formats one line from which CloudWatch makes metrics, without a call and without an SDK. `_aws` must stay at
 * the top level, so the line goes to stdout unchanged: Lambda wraps what `console.log` prints. Lines of the same
 * members have the same directives, which are a third of the line: they are kept as text.
 */
export const createFormatEmf = (stage: string): FormatEmf => {
  const directivesFor = oncePer(createLruCache<string>(MAX_FORMS), (names) =>
    directivesOf(names.split(',')),
  );
  return ({ labels, values }, now, facts) => {
    const members = { Stage: stage, ...labels, ...values };
    const directives = directivesFor(Object.keys(members).join());
    const text = JSON.stringify({ ...facts, ...members }).slice(0, -1);
    return `${text},"_aws":{"Timestamp":${now},"CloudWatchMetrics":${directives}}}\n`;
  };
};
