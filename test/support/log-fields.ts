import type { LogEvent, LogFields } from '../../lambdas/log-events.ts';
import { METRIC_NAMES } from './metrics.ts';

/** One word: ids, kinds, codes, names out of the catalog. Whatever a person writes has spaces. */
const WORD = /^[\w.:@!=/-]{1,120}$/;
const ID = /^(?:req|key|meter)_[0-9A-Za-z]{8,40}$/;

const text = (pattern: RegExp) => (value: unknown) =>
  typeof value === 'string' && pattern.test(value);
const number = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const flag = (value: unknown) => typeof value === 'boolean';

type Check = (value: unknown) => boolean;

/** Every event: the compiler sees to it that none is missing. */
export const LOG_EVENTS: Record<LogEvent, true> = {
  request: true,
  request_started: true,
  request_running: true,
  request_failed: true,
  stream_failed: true,
  upstream_failed: true,
  upstream_secret_failed: true,
  breaker_opened: true,
  breaker_closed: true,
  key_held_off: true,
  project_held_off: true,
  breaker_unreadable: true,
  breaker_unwritable: true,
  target_learned: true,
  lessons_unreadable: true,
  lessons_unwritable: true,
  answer_not_stored: true,
  webhook_failed: true,
  meter_refund_late: true,
  meter_refund_written: true,
  meter_refund_pending: true,
  meter_charge_pending: true,
  meter_units_reaped: true,
  record_write_failed: true,
  usage_threshold: true,
  usage_threshold_failed: true,
  admin_change: true,
  revoked_key_used: true,
  audit_write_failed: true,
  history_folded: true,
  history_differs: true,
  otlp_dropped: true,
  otlp_unavailable: true,
  alert_dropped: true,
  alert_unavailable: true,
};

/** Every field that a log line may have, none missing, and what it may hold. */
export const LOG_FIELDS: Record<'level' | 'event' | keyof LogFields, Check> = {
  level: text(/^(?:info|warn|error)$/),
  event: (value) => typeof value === 'string' && Object.hasOwn(LOG_EVENTS, value),
  requestId: text(ID),
  awsRequestId: text(/^[\da-f-]{36}$/),
  method: text(/^[A-Z-]+$/),
  route: text(/^\/[\w/{}-]*$/),
  status: number,
  ms: number,
  keyId: text(ID),
  projectId: text(WORD),
  meterId: text(WORD),
  minute: number,
  period: text(/^(?:[\dT-]+|total)$/),
  model: text(WORD),
  stream: flag,
  upstream: text(WORD),
  target: text(WORD),
  field: text(WORD),
  attempts: number,
  failedAttempts: number,
  failedOver: flag,
  quotaLeft: number,
  empty: flag,
  exhausted: flag,
  fault: text(/^[a-z_-]+$/),
  upstreamStatus: number,
  firstContentMs: number,
  replayed: flag,
  loop: flag,
  finish: text(/^[a-z-]+$/),
  inputTokens: number,
  inputEstimated: flag,
  estimatedInputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  cacheWriteLongTokens: number,
  cacheMissReason: text(WORD),
  reasoningTokens: number,
  outcome: text(/^(?:finished|abandoned|failed)$/),
  cut: flag,
  failure: text(/^[\w(). -]+(?: < [\w(). -]+)*$/),
  // Vitest imports a file of tests with a query.
  origin: text(/^[\w.:-]+(?:\.test\.ts\?vitest=\d+)?:\d+:\d+$/),
  openUntil: number,
  openings: number,
  refunded: number,
  operator: text(/^[\w.:@!=/+-]{1,160}$/),
  count: number,
  threshold: number,
  action: text(/^[a-z]+\.[a-z]+$/),
  planId: text(WORD),
  leaked: flag,
  units: number,
  difference: number,
  receiver: text(/^(?:email|slack|webhook)$/),
};

/** Of a line from which metrics are made, too: its own, or counts of lines that were skipped. */
const METRIC_FIELDS: Record<string, Check> = {
  ...LOG_FIELDS,
  _aws: (value) => typeof value === 'object',
  Stage: text(WORD),
  Route: text(/^(?:\/[\w/]+|other)$/),
  Model: text(WORD),
  Upstream: text(WORD),
  ...Object.fromEntries(METRIC_NAMES.map((name) => [name, number])),
};

/** The fields of a line that it may not have, or not with what they hold. */
export const strayFields = (line: Record<string, unknown>): string[] => {
  const allowed: Record<string, Check> = '_aws' in line ? METRIC_FIELDS : LOG_FIELDS;
  return Object.entries(line)
    .filter(([name, value]) => !(Object.hasOwn(allowed, name) && allowed[name]?.(value)))
    .map(([name]) => name);
};
