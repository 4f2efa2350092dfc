import { type IWidget, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { LogEvent, LogEvents } from '../lambdas/log-events.ts';
import { HALF } from './dashboard-widgets.ts';

export type DashboardSources = { logGroup: LogGroup };

type Query = { title: string; lines: string[] };

/** A line of a query. What is put into it is a field that the events have, or it does not compile. */
type Ask<E extends LogEvent> = (
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
  linesOf: (ask: Ask<E>) => string[],
): Query => ({
  title,
  lines: [eventIs(events), ...linesOf((text, ...fields) => String.raw(text, ...fields))],
});

/** Questions that metrics cannot answer, because keys and request ids are no dimensions. */
const QUERIES: Query[] = [
  query('Top keys', ['request'], (ask) => [
    ask`filter ispresent(${'keyId'})`,
    ask`stats count(*) as requests, sum(${'status'} >= 400) as refused, sum(${'outputTokens'}) as tokens by ${'projectId'}, ${'keyId'}`,
    'sort requests desc',
    'limit 20',
  ]),
  query('Slowest models', ['request'], (ask) => [
    ask`filter ispresent(${'upstream'})`,
    ask`stats count(*) as answers, pct(${'firstContentMs'}, 95) as firstContentP95, pct(${'ms'}, 95) as durationP95 by ${'model'}, ${'upstream'}`,
    'sort durationP95 desc',
    'limit 20',
  ]),
  query('Errors by type and route', ['request'], (ask) => [
    ask`filter ${'status'} >= 400 or ${'outcome'} = "failed"`,
    ask`stats count(*) as errors by ${'route'}, ${'status'}, ${'fault'}`,
    'sort errors desc',
    'limit 30',
  ]),
  query('Recent 5xx', ['request'], (ask) => [
    ask`filter ${'status'} >= 500 or ${'outcome'} = "failed"`,
    ask`fields @timestamp, ${'requestId'}, ${'route'}, ${'model'}, ${'status'}, ${'fault'}, ${'failure'}, ${'ms'}`,
    'sort @timestamp desc',
    'limit 30',
  ]),
  query('Upstream failures', ['upstream_failed'], (ask) => [
    ask`stats count(*) as failures by ${'model'}, ${'upstream'}, ${'fault'}, ${'upstreamStatus'}`,
    'sort failures desc',
    'limit 30',
  ]),
  query('Breakers: last turn of each target', ['breaker_opened', 'breaker_closed'], (ask) => [
    ask`stats latest(event) as state, latest(@timestamp) as since, count(*) as turns by ${'target'}`,
    'sort since desc',
    'limit 30',
  ]),
];

const table = (logGroup: LogGroup, { title, lines }: Query): IWidget =>
  new LogQueryWidget({
    title,
    logGroupNames: [logGroup.logGroupName],
    queryLines: lines,
    ...HALF,
  });

/** Tables from the log lines, two beside each other. */
export const logRows = ({ logGroup }: DashboardSources): IWidget[][] => {
  const tables = QUERIES.map((one) => table(logGroup, one));
  return [tables.slice(0, 2), tables.slice(2, 4), tables.slice(4)];
};
