import {
  type LogEvent,
  type LogEvents,
  type LogFields,
  NO_HEALTHY_TARGET,
  type RequestFields,
  STORE_THROTTLED,
  STORE_UNAVAILABLE,
} from '../log-events.ts';
import { type Labelled, type MetricName, OTHER, seriesOfRoute } from '../metrics.ts';
import { omitUndefined } from '../support/objects.ts';
import type { Point } from './format-emf.ts';

type Values = Point['values'];

/** Turns the facts of a log line into metrics; undefined when it has none. */
export type Measure = <E extends LogEvent>(event: E, fields: LogEvents[E]) => Point | undefined;

/** What happened, and how much of it. A count that is 0 has no value. */
type Happened = { [name in MetricName]?: boolean | number | undefined };

const count = (happened: Happened): Values => {
  const values: Values = {};
  let name: MetricName;
  for (name in happened) if (happened[name]) values[name] = Number(happened[name]);
  return values;
};

/** Errors that callers can cause at any rate; no SDK retries a 402. */
export const FLOODING = [401, 429];

/** Of a generation that an upstream answered; denied requests would only make it look fast. */
const answerValues = ({ firstContentMs, ms }: RequestFields): Values =>
  omitUndefined({ FirstContentMs: firstContentMs, DurationMs: ms });

/** Zero is a value too, not the absence of one. */
const percentValues = ({ estimatedInputTokens, inputTokens, quotaLeft }: RequestFields): Values => {
  const left = quotaLeft === undefined ? {} : { QuotaLeft: quotaLeft };
  if (estimatedInputTokens === undefined || !inputTokens) return left;
  const error = Math.round((estimatedInputTokens / inputTokens - 1) * 1_000) / 10;
  return { ...left, TokenEstimateError: error };
};

const requestValues = (fields: RequestFields): Values => {
  const { outcome, status, stream, upstream, fault, failure = '' } = fields;
  // A stream that failed before its status went out is counted by that status.
  const isBroken = stream && outcome === 'failed' && status === 200;
  // A table that throttles is available to every other key: one item is one key.
  const isThrottled = failure.includes(STORE_THROTTLED);
  return {
    Requests: 1,
    ...(upstream && answerValues(fields)),
    ...percentValues(fields),
    ...count({
      Denied: FLOODING.includes(status),
      Failed: isBroken || (status >= 500 && !isThrottled),
      Status401: status === 401,
      Status402: status === 402,
      Status429: status === 429,
      Status4xx: status >= 400 && status <= 499,
      Status5xx: status >= 500,
      MeterThrottled: isThrottled,
      MeterUnreachable: !isThrottled && failure.includes(STORE_UNAVAILABLE),
      Failovers: fields.failedOver,
      EmptyResponses: fields.empty,
      NoHealthyTarget: upstream === undefined && (fields.exhausted || fault === NO_HEALTHY_TARGET),
      StreamsAbandoned: stream && outcome === 'abandoned',
      StreamsFailed: isBroken,
      DeadlineCuts: fields.cut || fault === 'deadline',
      // After the first content; before it, the failed attempt has a separate line.
      UpstreamErrors: upstream !== undefined && fault !== undefined,
      InputTokens: fields.inputTokens,
      OutputTokens: fields.outputTokens,
    }),
  };
};

const upstreamFailureValues = ({ fault, upstreamStatus = 0 }: LogEvents['upstream_failed']) =>
  count({
    UpstreamErrors: 1,
    UpstreamCredentialRefused: fault === 'credential-refused',
    UpstreamForbidden: fault === 'status' && upstreamStatus === 403,
    UpstreamNoQuota: fault === 'no-quota',
    UpstreamModelUnknown: fault === 'unknown-model',
    SecretFetchFailed: fault === 'credential',
  });

const VALUES: { [E in LogEvent]?: (fields: LogEvents[E]) => Values } = {
  request: requestValues,
  upstream_failed: upstreamFailureValues,
  breaker_opened: () => ({ BreakersOpened: 1 }),
  stream_failed: () => ({ Failed: 1, StreamsFailed: 1 }),
  meter_refund_pending: () => ({ RefundPending: 1 }),
  meter_charge_pending: () => ({ ChargePending: 1 }),
  answer_not_stored: () => ({ AnswersNotKept: 1 }),
  history_folded: () => ({ HistoryRuns: 1 }),
  history_differs: () => ({ HistoryDiffers: 1 }),
  record_write_failed: () => ({ RecordsLost: 1 }),
  upstream_secret_failed: () => ({ SecretFetchFailed: 1 }),
};

const routeLabels = (event: LogEvent, { route }: LogFields): Point['labels'] =>
  event === 'request' ? { Route: seriesOfRoute(route) } : {};

/** The facts of log lines as metrics, with the labels that have series. */
export const createMeasure = (labelled: Labelled[]): Measure => {
  const upstreamsOf = new Map(labelled.map(({ model, upstreams }) => [model, upstreams]));

  const targetLabels = ({ model, upstream }: LogFields): Point['labels'] => {
    if (model === undefined) return {};
    const upstreams = upstreamsOf.get(model);
    const Model = upstreams ? model : OTHER;
    if (upstream === undefined) return { Model };
    return { Model, Upstream: upstreams?.includes(upstream) ? upstream : OTHER };
  };

  return (event, fields) => {
    const values = VALUES[event]?.(fields);
    if (!values) return undefined;
    return { labels: { ...routeLabels(event, fields), ...targetLabels(fields) }, values };
  };
};
