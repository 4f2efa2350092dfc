import { type IWidget, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';

export type DashboardSources = { logGroup: LogGroup };

const REQUESTS = "filter event = 'request'";

/** Questions that metrics cannot answer, because keys and request ids are no dimensions. */
const QUERIES: { title: string; lines: string[] }[] = [
  {
    title: 'Top keys',
    lines: [
      REQUESTS,
      'filter ispresent(keyId)',
      'stats count(*) as requests, sum(status >= 400) as refused, sum(outputTokens) as tokens by projectId, keyId',
      'sort requests desc',
      'limit 20',
    ],
  },
  {
    title: 'Slowest models',
    lines: [
      REQUESTS,
      'filter ispresent(upstream)',
      'stats count(*) as answers, pct(firstContentMs, 95) as firstContentP95, pct(ms, 95) as durationP95 by model, upstream',
      'sort durationP95 desc',
      'limit 20',
    ],
  },
  {
    title: 'Errors by type and route',
    lines: [
      REQUESTS,
      'filter status >= 400 or outcome = "failed"',
      'stats count(*) as errors by route, status, fault',
      'sort errors desc',
      'limit 30',
    ],
  },
  {
    title: 'Recent 5xx',
    lines: [
      REQUESTS,
      'filter status >= 500 or outcome = "failed"',
      'fields @timestamp, requestId, route, model, status, fault, failure, ms',
      'sort @timestamp desc',
      'limit 30',
    ],
  },
  {
    title: 'Upstream failures',
    lines: [
      "filter event = 'upstream_failed'",
      'stats count(*) as failures by model, upstream, fault, upstreamStatus',
      'sort failures desc',
      'limit 30',
    ],
  },
  {
    title: 'Breakers: last turn of each target',
    lines: [
      "filter event in ['breaker_opened', 'breaker_closed']",
      'stats latest(event) as state, latest(@timestamp) as since, count(*) as turns by target',
      'sort since desc',
      'limit 30',
    ],
  },
];

const table = (logGroup: LogGroup, { title, lines }: (typeof QUERIES)[number]): IWidget =>
  new LogQueryWidget({
    title,
    logGroupNames: [logGroup.logGroupName],
    queryLines: lines,
    width: 12,
    height: 6,
  });

/** Tables from the log lines, two beside each other. */
export const logRows = ({ logGroup }: DashboardSources): IWidget[][] => {
  const tables = QUERIES.map((query) => table(logGroup, query));
  return [tables.slice(0, 2), tables.slice(2, 4), tables.slice(4)];
};
