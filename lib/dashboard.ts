import { Annotations, Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { LogEvent, LogEvents } from '../lambdas/log-events.ts';
import { type PlatformSources, platformRows } from './dashboard-platform.ts';
import { productRows } from './dashboard-product.ts';
import { FULL_WIDTH, HALF } from './dashboard-widgets.ts';

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

const logRows = ({ logGroupName }: LogGroup): cloudwatch.IWidget[][] => {
  const tables = QUERIES.map(
    ({ title, lines }) =>
      new cloudwatch.LogQueryWidget({
        title,
        logGroupNames: [logGroupName],
        queryLines: lines,
        ...HALF,
      }),
  );
  return [tables.slice(0, 2), tables.slice(2, 4), tables.slice(4, 6), tables.slice(6)];
};

/** CloudWatch's limits of metrics in a widget, and in a dashboard. */
const WIDGET_METRICS = 500;
const DASHBOARD_METRICS = 2_500;

const metricsOf = (widget: cloudwatch.IWidget): number => {
  const widgets: { properties: { metrics?: unknown[] } }[] = widget.toJson();
  return widgets.reduce((sum, { properties }) => sum + (properties.metrics?.length ?? 0), 0);
};

/** Warns of more metrics than CloudWatch shows: their number grows with `maxSeries` and the catalog. */
const warnOfLimits = (scope: Construct, rows: cloudwatch.IWidget[][]): void => {
  const counts = rows.flat().map(metricsOf);
  const most = Math.max(...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  if (most <= WIDGET_METRICS && sum <= DASHBOARD_METRICS) return;
  Annotations.of(scope).addWarningV2(
    'model-router:dashboard-metrics',
    `The dashboard would have ${sum} metrics, ${most} of them in one widget; CloudWatch shows at most ` +
      `${DASHBOARD_METRICS} and ${WIDGET_METRICS}. Lower maxSeries: metrics then count the last models as "other".`,
  );
};

/**
 * One dashboard per stage, named like the stack: alarms, then requests, upstreams, meters, Lambda
 * and log tables.
 */
export const createDashboard = (
  parent: Construct,
  { alarms, ...sources }: PlatformSources & { logGroup: LogGroup; alarms: cloudwatch.AlarmBase[] },
): void => {
  const scope = new Construct(parent, 'Dashboard');
  const status = new cloudwatch.AlarmStatusWidget({
    title: 'Alarms (each description links its runbook)',
    ...{ alarms, width: FULL_WIDTH, height: 3 },
  });
  const rows = [...productRows(sources), ...platformRows(sources), ...logRows(sources.logGroup)];
  const widgets = [[status], ...rows];
  warnOfLimits(scope, widgets);
  new cloudwatch.Dashboard(scope, 'Dashboard', {
    dashboardName: Stack.of(scope).stackName,
    defaultInterval: Duration.hours(3),
    widgets,
  });
};
