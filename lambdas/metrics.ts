import { ROUTES, type RouteRow } from './routes.ts';

/**
 * CONTRACT with lib/: the router's metrics. Dashboard and alarms read the names that the router writes.
 * A key or a project is never a dimension: each series is $0.30 a month, and log lines have both.
 */
export const NAMESPACE = 'ModelRouter';

/** Sets of dimensions, each with the metrics that have them. */
export const SCOPES = {
  stage: {
    dimensions: ['Stage'],
    metrics: [
      'Requests',
      /** Requests with a 401 or 429. They cost their sender nothing, so that alarms leave them out of all requests. */
      'Denied',
      /** Requests with a 5xx, except those that a table throttled, and streams that ended with an error. */
      'Failed',
      'Status401',
      'Status402',
      'Status429',
      'Status5xx',
      /** Requests to which a target responded that is not their first choice. */
      'Failovers',
      /** Responses without any content, which the provider reported as successful. */
      'EmptyResponses',
      /** Streams whose client disconnected. */
      'StreamsAbandoned',
      /** Streams that ended with an error after their status was sent. */
      'StreamsFailed',
      /** Responses ended early by the deadline. */
      'DeadlineCuts',
      /** Units that could not be refunded at once. */
      'RefundPending',
      /** Units of finished responses that could not be charged. */
      'ChargePending',
      /** Responses with an idempotency key that could not be kept. */
      'AnswersNotKept',
      /** Requests whose record could not be written. */
      'RecordsLost',
      /** Complete runs of the history. */
      'HistoryRuns',
      /** Projects in which a run of the history finds that meters and records differ. */
      'HistoryDiffers',
      'SecretFetchFailed',
      /** Requests rejected because a table was unavailable. */
      'MeterUnreachable',
      /** Requests rejected because a table throttled them: usually the item of one busy key. */
      'MeterThrottled',
      /** A provider rejected the credential itself, usually with 401. */
      'UpstreamCredentialRefused',
      /** A provider returned 403 for another reason: a missing permission, or one prompt that it flagged. */
      'UpstreamForbidden',
      /** The account at a provider has no money or quota left. */
      'UpstreamNoQuota',
      /** A provider has no such model or path: a mistake in the catalog. */
      'UpstreamModelUnknown',
      'NoHealthyTarget',
      'BreakersOpened',
    ],
  },
  route: { dimensions: ['Stage', 'Route'], metrics: ['Requests', 'Status4xx', 'Status5xx'] },
  model: {
    dimensions: ['Stage', 'Model'],
    metrics: [
      'NoHealthyTarget',
      'InputTokens',
      'OutputTokens',
      /** Percent by which the estimate of a prompt is above what the provider counted, or below. */
      'TokenEstimateError',
    ],
  },
  target: {
    dimensions: ['Stage', 'Model', 'Upstream'],
    metrics: ['FirstContentMs', 'DurationMs', 'UpstreamErrors'],
  },
  /** Of targets that declare a quota. */
  quota: {
    dimensions: ['Stage', 'Model', 'Upstream'],
    /** Percent of what the quota lets through at once, 5 s of a minute's, that is left after a request. */
    metrics: ['QuotaLeft'],
  },
} as const;

export type Scope = keyof typeof SCOPES;
export type MetricIn<S extends Scope> = (typeof SCOPES)[S]['metrics'][number];
export type MetricName = MetricIn<Scope>;
export type DimensionName = (typeof SCOPES)[Scope]['dimensions'][number];

export const unitOf = (name: MetricName): 'Count' | 'Milliseconds' | 'Percent' => {
  if (name === 'TokenEstimateError' || name === 'QuotaLeft') return 'Percent';
  return name.endsWith('Ms') ? 'Milliseconds' : 'Count';
};

/** Label shared by routes, models and upstreams without a series. */
export const OTHER = 'other';

/** Values of `Route`: the series that rows name (routes.ts), and `other`. */
export const routeSeries = (routes: readonly RouteRow[] = ROUTES): string[] => [
  ...new Set(routes.flatMap((row) => ('series' in row && row.series ? [row.series] : []))),
  OTHER,
];

/** Value of `Route` for a pattern, which is undefined if no route matched. */
export const seriesOfRoute = (pattern: string | undefined): string => {
  const row = ROUTES.find((one) => one.pattern === pattern);
  return row && 'series' in row ? row.series : OTHER;
};

/** The part of a catalog that becomes dimensions. */
type ModelTargets = { id: string; targets: { upstream: string; quota?: object | undefined }[] };

/** A model and its upstreams, each once; `quotas` are those that declare one. */
export type Labelled = { model: string; upstreams: string[]; quotas: string[] };

/** Default of the stage option `maxSeries`: $24 a month. Four models of two upstreams make 79. */
export const DEFAULT_MAX_SERIES = 80;

/** US dollars a month of one custom metric. */
export const SERIES_PRICE = 0.3;

/** Number of series of a stage whose models are labelled like this. */
export const countSeries = (labels: Labelled[], routes: readonly RouteRow[] = ROUTES): number => {
  const pairs = labels.flatMap(({ upstreams }) => upstreams);
  const quotas = labels.flatMap((one) => one.quotas);
  return (
    SCOPES.stage.metrics.length +
    SCOPES.route.metrics.length * routeSeries(routes).length +
    SCOPES.model.metrics.length * labels.length +
    SCOPES.target.metrics.length * pairs.length +
    SCOPES.quota.metrics.length * quotas.length
  );
};

const upstreamsOf = (targets: ModelTargets['targets']): string[] => [
  ...new Set(targets.map(({ upstream }) => upstream)),
];

/** Labels of every model, however many series they make. */
export const allLabelsOf = (models: ModelTargets[]): Labelled[] =>
  models.map(({ id, targets }) => ({
    model: id,
    upstreams: upstreamsOf(targets),
    quotas: upstreamsOf(targets.filter(({ quota }) => quota)),
  }));

/**
 * Values of `Model` and `Upstream`: the catalog's, in its order, as many as `maxSeries` allows. The
 * other models are counted together as `other`.
 */
export const labelsOf = (
  models: ModelTargets[],
  maxSeries: number,
  routes: readonly RouteRow[] = ROUTES,
): Labelled[] => {
  const all = allLabelsOf(models);
  if (countSeries(all, routes) <= maxSeries) return all;
  const hasQuotas = all.some(({ quotas }) => quotas.length > 0);
  const rest = { model: OTHER, upstreams: [OTHER], quotas: hasQuotas ? [OTHER] : [] };
  const fit = all.findIndex(
    (_, index) => countSeries([...all.slice(0, index + 1), rest], routes) > maxSeries,
  );
  return [...all.slice(0, fit), rest];
};
