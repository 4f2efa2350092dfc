import { Duration } from 'aws-cdk-lib';
import type { IWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { type Labelled, type MetricIn, routeSeries } from '../lambdas/metrics.ts';
import { quarter, stacked, third } from './dashboard-widgets.ts';
import type { Reading, RouterMetrics } from './router-metrics.ts';

export type ProductSources = { metrics: RouterMetrics; labels: Labelled[] };

const MINUTE = Duration.minutes(1);

const trafficRow = ({ metrics }: ProductSources): IWidget[] => {
  const byRoute = (name: 'Requests' | 'Status4xx' | 'Status5xx') =>
    routeSeries().map((Route) =>
      metrics.byRoute(name, { Route }, { label: Route, period: MINUTE }),
    );
  return [
    stacked('Requests by route', byRoute('Requests')),
    stacked('4xx by route', byRoute('Status4xx')),
    stacked('5xx by route', byRoute('Status5xx')),
  ];
};

const errorRow = ({ metrics }: ProductSources): IWidget[] => {
  const count = (name: Parameters<RouterMetrics['inStage']>[0], label: string) =>
    metrics.inStage(name, { label, period: MINUTE });
  return [
    stacked('Rejected requests: 401, 402, 429', [
      count('Status401', '401 invalid key'),
      count('Status402', '402 quota exceeded'),
      count('Status429', '429 rate limit'),
    ]),
    third('Failed responses', [
      count('Failed', 'failed, all'),
      count('Status5xx', '5xx'),
      count('StreamsFailed', 'streams failed'),
      count('StreamsAbandoned', 'streams abandoned'),
      count('DeadlineCuts', 'cut at the deadline'),
      count('EmptyResponses', 'empty'),
    ]),
    third('Failover and breakers', [
      count('Failovers', 'served by another target'),
      count('BreakersOpened', 'breakers opened'),
      count('NoHealthyTarget', 'no healthy target'),
      count('UpstreamCredentialRefused', 'credential rejected'),
      count('UpstreamForbidden', 'forbidden (403)'),
      count('UpstreamNoQuota', 'no quota at the provider'),
      count('UpstreamModelUnknown', 'model unknown to the provider'),
    ]),
  ];
};

/** Returns every pair of model and upstream that has its own metric series, of all or of those with a quota. */
const targetsOf = (labels: Labelled[], of: 'upstreams' | 'quotas' = 'upstreams') =>
  labels.flatMap(({ model, ...names }) =>
    names[of].map((upstream) => ({
      name: `${model} ${upstream}`,
      labels: { Model: model, Upstream: upstream },
    })),
  );

const speedRow = ({ metrics, labels }: ProductSources): IWidget[] => {
  const byTarget = (
    name: MetricIn<'target' | 'quota'>,
    statistics: string[],
    targets = targetsOf(labels),
  ) =>
    targets.flatMap((target) =>
      statistics.map((statistic) =>
        metrics.byTarget(name, target.labels, { statistic, label: `${target.name} ${statistic}` }),
      ),
    );
  const quotas = targetsOf(labels, 'quotas');
  const left = byTarget('QuotaLeft', ['Average', 'Minimum'], quotas);
  return [
    third('Time to first content, p50 and p95 (ms)', byTarget('FirstContentMs', ['p50', 'p95'])),
    third('Duration, p50 and p95 (ms)', byTarget('DurationMs', ['p50', 'p95'])),
    third('Duration, p99 (ms)', byTarget('DurationMs', ['p99'])),
    ...(quotas.length > 0 ? [third("Left of providers' quotas (%)", left)] : []),
  ];
};

const modelRow = ({ metrics, labels }: ProductSources): IWidget[] => {
  const perModel = (name: MetricIn<'model'>, reading: Reading = {}) =>
    labels.map(({ model }) =>
      metrics.byModel(
        name,
        { Model: model },
        { ...reading, label: `${model}${reading.label ?? ''}` },
      ),
    );
  const errors = targetsOf(labels).map((target) =>
    metrics.byTarget('UpstreamErrors', target.labels, { label: target.name }),
  );
  return [
    quarter('Errors by model and upstream', errors),
    quarter('No healthy target, by model', perModel('NoHealthyTarget')),
    quarter('Tokens', [
      ...perModel('InputTokens', { label: ' in' }),
      ...perModel('OutputTokens', { label: ' out' }),
    ]),
    quarter(
      'Token estimate, median error (%)',
      perModel('TokenEstimateError', { statistic: 'p50' }),
    ),
  ];
};

export const productRows = (sources: ProductSources): IWidget[][] => [
  trafficRow(sources),
  errorRow(sources),
  speedRow(sources),
  modelRow(sources),
];
