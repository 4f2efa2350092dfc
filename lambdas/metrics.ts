import { ROUTES } from './routes.ts';

/**
 * CONTRACT with lib/: what the router counts. Dashboard and alarms read these names; the router writes
 * them. A key or a project is never a dimension: each series is $0.30 a month, and logs know them.
 */
export const NAMESPACE = 'ModelRouter';

/** What a metric is split by, and the metrics that are split this way. */
export const SCOPES = {
  stage: {
    dimensions: ['Stage'],
    metrics: [
      'Requests',
      'Status401',
      'Status402',
      'Status429',
      'Status5xx',
      /** Targets that failed and were replaced by another one. */
      'Failovers',
      /** Streams whose caller is known to have left. */
      'StreamsAbandoned',
      /** Streams that ended with an error after their status was sent. */
      'StreamsFailed',
      /** Answers ended early because their time was up. */
      'DeadlineCuts',
      /** Units that could not be given back at once. */
      'RefundPending',
      'SecretFetchFailed',
      /** Requests refused because a table did not answer. */
      'MeterUnreachable',
      /** A provider answered 401 or 403. */
      'UpstreamCredentialRefused',
      'NoHealthyTarget',
      'BreakersOpened',
    ],
  },
  route: { dimensions: ['Stage', 'Route'], metrics: ['Requests', 'Status4xx', 'Status5xx'] },
  model: {
    dimensions: ['Stage', 'Model'],
    metrics: ['NoHealthyTarget', 'InputTokens', 'OutputTokens'],
  },
  target: {
    dimensions: ['Stage', 'Model', 'Upstream'],
    metrics: ['FirstContentMs', 'DurationMs', 'UpstreamErrors'],
  },
} as const;

export type Scope = keyof typeof SCOPES;
export type MetricIn<S extends Scope> = (typeof SCOPES)[S]['metrics'][number];
export type MetricName = MetricIn<Scope>;
export type DimensionName = (typeof SCOPES)[Scope]['dimensions'][number];

/** Every metric, however it is split. */
export const METRIC_NAMES: MetricName[] = [
  ...new Set(Object.values(SCOPES).flatMap<MetricName>(({ metrics }) => metrics)),
];

export const unitOf = (name: MetricName): 'Count' | 'Milliseconds' =>
  name.endsWith('Ms') ? 'Milliseconds' : 'Count';

/** Label of what has no series of its own. */
export const OTHER = 'other';

/** Values of `Route`: the series that routes name (routes.ts), and `other`. */
export const ROUTE_SERIES: string[] = [
  ...new Set(ROUTES.flatMap((row) => ('series' in row ? [row.series] : []))),
  OTHER,
];

/** Value of `Route` for a pattern, which is undefined if no route matched. */
export const seriesOfRoute = (pattern: string | undefined): string => {
  const row = ROUTES.find((one) => one.pattern === pattern);
  return row && 'series' in row ? row.series : OTHER;
};

/** A catalog, as far as it matters here. */
type ModelTargets = { id: string; targets: { upstream: string }[] };

/** A model and the upstreams it may come from, all once. */
export type Labelled = { model: string; upstreams: string[] };

/** The most series of one stage: $18 a month. */
const MAX_SERIES = 60;

const seriesOf = (models: Labelled[]): number => {
  const pairs = models.reduce((sum, { upstreams }) => sum + upstreams.length, 0);
  return (
    SCOPES.stage.metrics.length +
    SCOPES.route.metrics.length * ROUTE_SERIES.length +
    SCOPES.model.metrics.length * models.length +
    SCOPES.target.metrics.length * pairs
  );
};

const REST: Labelled = { model: OTHER, upstreams: [OTHER] };

/**
 * Values of `Model` and `Upstream`: the catalog's, in its order, as many as the budget allows. The rest
 * of a long catalog is counted together as `other`.
 */
export const labelsOf = (models: ModelTargets[]): Labelled[] => {
  const all = models.map(({ id, targets }) => ({
    model: id,
    upstreams: [...new Set(targets.map(({ upstream }) => upstream))],
  }));
  if (seriesOf(all) <= MAX_SERIES) return all;
  const fit = all.findIndex((_, at) => seriesOf([...all.slice(0, at + 1), REST]) > MAX_SERIES);
  return [...all.slice(0, fit), REST];
};
