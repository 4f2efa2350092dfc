import { type Labelled, type MetricName, OTHER, ROUTES } from '../metrics.ts';
import type { LogFields } from '../support/log.ts';
import type { Point } from './format-emf.ts';

type Values = Point['values'];

/** Code of the error when the breakers of all targets are open. */
const NO_TARGET = 'no_healthy_target';
const REFUSED_CREDENTIAL = [401, 403];

/** Turns the facts of a log line into metrics; undefined when it has none. */
export type Measure = (event: string, fields: LogFields) => Point | undefined;

const number = (value: LogFields[string]): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

const count = (wanted: Partial<Record<MetricName, unknown>>): Values =>
  Object.fromEntries(
    Object.entries(wanted)
      .filter(([, happened]) => happened)
      .map(([name, happened]) => [name, happened === true ? 1 : happened]),
  );

const statusValues = (status: number): Values =>
  count({
    Status401: status === 401,
    Status402: status === 402,
    Status429: status === 429,
    Status4xx: status >= 400 && status <= 499,
    Status5xx: status >= 500,
  });

/** Of a generation that an upstream answered; refusals would only make it look fast. */
const answerValues = (fields: LogFields): Values => {
  const ms = { FirstContentMs: number(fields.firstContentMs), DurationMs: number(fields.ms) };
  return Object.fromEntries(Object.entries(ms).filter(([, value]) => value !== undefined));
};

const requestValues = (fields: LogFields): Values => {
  const { outcome, status, stream, upstream, fault, failure } = fields;
  const failed = number(fields.failedAttempts) ?? 0;
  return {
    Requests: 1,
    ...statusValues(number(fields.status) ?? 0),
    ...(upstream === undefined ? {} : answerValues(fields)),
    ...count({
      // Without an answer the last failure led to no other target.
      Failovers: upstream === undefined ? Math.max(0, failed - 1) : failed,
      NoHealthyTarget: upstream === undefined && (fields.exhausted === true || fault === NO_TARGET),
      StreamsAbandoned: stream === true && outcome === 'abandoned',
      // A stream that failed before its status went out has a status of its own.
      StreamsFailed: stream === true && outcome === 'failed' && status === 200,
      DeadlineCuts: fields.cut === true || fault === 'deadline',
      // After the first content; before it, the failed attempt has a line of its own.
      UpstreamErrors: upstream !== undefined && fault !== undefined,
      MeterUnreachable: String(failure ?? '').includes('StoreUnavailable'),
      InputTokens: number(fields.inputTokens),
      OutputTokens: number(fields.outputTokens),
    }),
  };
};

const upstreamFailureValues = ({ fault, upstreamStatus }: LogFields): Values =>
  count({
    UpstreamErrors: 1,
    UpstreamCredentialRefused: REFUSED_CREDENTIAL.includes(number(upstreamStatus) ?? 0),
    SecretFetchFailed: fault === 'credential',
  });

/** By the log event that tells it. */
const VALUES: Record<string, (fields: LogFields) => Values> = {
  request: requestValues,
  upstream_failed: upstreamFailureValues,
  breaker_opened: () => ({ BreakersOpened: 1 }),
  stream_failed: () => ({ StreamsFailed: 1 }),
  meter_refund_pending: () => ({ RefundPending: 1 }),
  upstream_secret_failed: () => ({ SecretFetchFailed: 1 }),
};

const routeLabel = (pattern: LogFields[string]): string => {
  const known = ROUTES.find((route) => route === pattern || `${route}/{id}` === pattern);
  return known ?? OTHER;
};

/** The facts of log lines as metrics, with the labels that have series. */
export const createMeasure = (labelled: Labelled[]): Measure => {
  const upstreamsOf = new Map(labelled.map(({ model, upstreams }) => [model, upstreams]));

  const targetLabels = ({ model, upstream }: LogFields): Point['labels'] => {
    if (typeof model !== 'string') return {};
    const upstreams = upstreamsOf.get(model);
    const Model = upstreams ? model : OTHER;
    if (typeof upstream !== 'string') return { Model };
    return { Model, Upstream: upstreams?.includes(upstream) ? upstream : OTHER };
  };

  return (event, fields) => {
    const values = VALUES[event]?.(fields);
    if (!values) return undefined;
    const Route = event === 'request' ? { Route: routeLabel(fields.route) } : {};
    return { labels: { ...Route, ...targetLabels(fields) }, values };
  };
};
