import { type IWidget, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { LogEvent, LogEvents } from '../lambdas/log-events.ts';
import { HALF } from './dashboard-widgets.ts';

export type DashboardSources = { logGroup: LogGroup };

type Query = { title: string; lines: string[] };

/**
 * Template tag of a query line. Only fields of the given log events compile as its placeholders.
 */
type LineTag<E extends LogEvent> = (
  text: TemplateStringsArray,
  ...fields: (keyof LogEvents[E] & string)[]
) => string;

const eventIs = (events: LogEvent[]): string => {
  const names = events.map((event) => `'${event}'`);
  return names.length === 1 ? `filter event = ${names}` : `filter event in [${names.join(', ')}]`;
};

const query = <E extends LogEvent>(
  title: string,
  events: E[],
  linesOf: (line: LineTag<E>) => string[],
): Query => ({
  title,
  lines: [eventIs(events), ...linesOf((text, ...fields) => String.raw(text, ...fields))],
});

/** Queries by key or request id, which are not metric dimensions. */
const QUERIES: Query[] = [
  query('Top keys (names: npm run admin -- usage --by key)', ['request'], (line) => [
    line`filter ispresent(${'keyId'})`,
    line`stats count(*) as requests, sum(${'status'} >= 400) as errors, sum(${'outputTokens'}) as tokens by ${'projectId'}, ${'keyId'}`,
    'sort requests desc',
    'limit 20',
  ]),
  query('Slowest models', ['request'], (line) => [
    line`filter ispresent(${'upstream'})`,
    line`stats count(*) as responses, pct(${'firstContentMs'}, 95) as firstContentP95, pct(${'ms'}, 95) as durationP95 by ${'model'}, ${'upstream'}`,
    'sort durationP95 desc',
    'limit 20',
  ]),
  query('Errors by type and route', ['request'], (line) => [
    line`filter ${'status'} >= 400 or ${'outcome'} = "failed"`,
    line`stats count(*) as errors by ${'route'}, ${'status'}, ${'fault'}`,
    'sort errors desc',
    'limit 30',
  ]),
  query('Recent 5xx', ['request'], (line) => [
    line`filter ${'status'} >= 500 or ${'outcome'} = "failed"`,
    line`fields @timestamp, ${'requestId'}, ${'route'}, ${'model'}, ${'status'}, ${'fault'}, ${'failure'}, ${'ms'}`,
    'sort @timestamp desc',
    'limit 30',
  ]),
  query('Upstream failures', ['upstream_failed'], (line) => [
    line`stats count(*) as failures by ${'model'}, ${'upstream'}, ${'fault'}, ${'upstreamStatus'}`,
    'sort failures desc',
    'limit 30',
  ]),
  query('Shares of the models: tokens, and denied for want of capacity', ['request'], (line) => [
    line`filter ispresent(${'model'})`,
    line`stats sum(${'inputTokens'}) as input, sum(${'outputTokens'}) as output, sum(${'fault'} = "capacity") as denied by ${'model'}, ${'projectId'}`,
    'sort denied desc, input desc',
    'limit 30',
  ]),
  query('Breakers: last change per target', ['breaker_opened', 'breaker_closed'], (line) => [
    line`stats latest(event) as state, latest(@timestamp) as since, count(*) as changes by ${'target'}`,
    'sort since desc',
    'limit 30',
  ]),
];

const table = (logGroup: LogGroup, { title, lines }: Query): IWidget =>
  new LogQueryWidget({ title, logGroupNames: [logGroup.logGroupName], queryLines: lines, ...HALF });

/** Returns the log tables, two per row. */
export const logRows = ({ logGroup }: DashboardSources): IWidget[][] => {
  const tables = QUERIES.map((entry) => table(logGroup, entry));
  return [tables.slice(0, 2), tables.slice(2, 4), tables.slice(4, 6), tables.slice(6)];
};
