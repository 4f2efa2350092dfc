/**
 * CONTRACT with lib/ and the runbooks: the log events. A line has an event and explicitly named fields:
 * ids, counts, kinds and milliseconds, never a body, a header, a path or a message. Metrics and the
 * dashboard's queries use these names; an alarm on a name that no code writes would never fire.
 */

import type { AlertForm } from './env.ts';

/** Of what a generation was answered with. */
type AnswerFields = {
  model: string;
  stream: boolean;
  upstream: string;
  attempts: number;
  failedAttempts: number;
  /** A target responded that is not the first choice for the request, because that one failed, now or earlier in its session. */
  failedOver: boolean;
  /** Percent of what the declared quota of the target lets through at once that was left. */
  quotaLeft: number;
  /** The upstream ended its response properly, without any content. */
  empty: boolean;
  /** The last failure allowed another target, but none responded. */
  exhausted: boolean;
  /** Kind of an upstream's failure, or code of an error. */
  fault: string;
  firstContentMs: number;
  finish: string;
  inputTokens: number;
  /** The provider reported none: `inputTokens` is the router's estimate. */
  inputEstimated: boolean;
  /** The router's estimate of what the provider reported as `inputTokens`. */
  estimatedInputTokens: number;
  outputTokens: number;
  /** Part of `inputTokens`. */
  cacheReadTokens: number;
  /** Part of `inputTokens`. */
  cacheWriteTokens: number;
  /** Part of `cacheWriteTokens`: those of the longer lifetime. */
  cacheWriteLongTokens: number;
  /** The provider's word for why a prompt was not read from its cache. */
  cacheMissReason: string;
  /** Part of `outputTokens`. */
  reasoningTokens: number;
  outcome: 'finished' | 'abandoned' | 'failed';
  /** The response was ended early by the deadline. */
  cut: boolean;
  /** The history of the request ends in a loop. */
  loop: boolean;
  /** The response is that of an earlier request with the same idempotency key. */
  replayed: boolean;
};

/** Every field; each has one meaning in all events. */
type Fields = AnswerFields & {
  requestId: string;
  /** Lambda's id of the invocation, which its own lines have; absent elsewhere. */
  awsRequestId: string;
  method: string;
  /** The pattern that matched. */
  route: string;
  status: number;
  ms: number;
  keyId: string;
  projectId: string;
  meterId: string;
  minute: number;
  period: string;
  /** `upstream/model`, the name of a breaker. */
  target: string;
  /** Member of a target's profile. */
  field: string;
  upstreamStatus: number;
  /** Names of an error and of its causes. */
  failure: string;
  /** File, line and column. */
  origin: string;
  openUntil: number;
  openings: number;
  refunded: number;
  operator: string;
  /** Of spans, or of records. */
  count: number;
  /** Percent of a key's quota. */
  threshold: number;
  /** What was changed: `plans.set`. */
  action: string;
  planId: string;
  /** A key was revoked because it leaked. */
  leaked: boolean;
  /** Units of the closed periods that were compared. */
  units: number;
  /** Units by which meters and records differ. */
  difference: number;
  /** Who gets an alert. */
  receiver: AlertForm;
};

/** All fields, each optional. */
export type LogFields = { [F in keyof Fields]?: Fields[F] | undefined };

/** The fields of one event; `Maybe` are those that it does not always know. */
type Line<Known extends keyof Fields, Maybe extends keyof Fields = never> = Pick<Fields, Known> &
  Pick<LogFields, Maybe>;

export type RequestFields = Line<
  'requestId' | 'method' | 'status' | 'ms',
  'awsRequestId' | 'route' | 'keyId' | 'projectId' | 'failure' | 'operator' | keyof AnswerFields
>;

type Failure = Line<'requestId' | 'failure', 'awsRequestId' | 'origin'>;
type Unit = Line<'meterId' | 'requestId' | 'minute' | 'period'>;
/** A `fault` says why, of a breaker of this process alone. */
type Turn = Line<'target' | 'openUntil' | 'openings', 'fault'>;

export type LogEvents = {
  request: RequestFields;
  /** On Lambda, a second after a POST has a caller, or at once if its body is large: ties an invocation that AWS ends to a key. */
  request_started: Line<'requestId' | 'awsRequestId' | 'keyId' | 'projectId', 'route'>;
  /** Once, if a request takes longer than 60 s: the same, with what is known by then. */
  request_running: Omit<RequestFields, 'status'>;
  request_failed: Failure;
  stream_failed: Failure;
  upstream_failed: Line<'requestId' | 'model' | 'upstream' | 'fault', 'upstreamStatus'>;
  upstream_secret_failed: Line<'failure'>;
  breaker_opened: Turn;
  breaker_closed: Turn;
  key_held_off: Turn & Pick<Fields, 'projectId' | 'keyId'>;
  project_held_off: Turn & Pick<Fields, 'projectId'>;
  breaker_unreadable: Line<'target'>;
  breaker_unwritable: Line<'target'>;
  /** A provider rejected a form of the request, and another form is sent to this target from now on. */
  target_learned: Line<'target' | 'upstream' | 'field'>;
  lessons_unreadable: Line<never>;
  lessons_unwritable: Line<'target'>;
  answer_not_stored: Line<'requestId'>;
  /** The receiver of a project took no event of this response, which is sent again. */
  webhook_failed: Line<'requestId' | 'projectId'>;
  meter_refund_late: Unit;
  meter_refund_written: Unit;
  meter_refund_pending: Unit;
  meter_charge_pending: Unit;
  meter_units_reaped: Line<'meterId' | 'refunded'>;
  /** The use of a key's quota reached a share of it; once per meter, period and share. */
  usage_threshold: Line<'keyId' | 'projectId' | 'meterId' | 'period' | 'threshold'>;
  /** The same, but its event was not sent; a request after a minute repeats it. */
  usage_threshold_failed: Line<'keyId' | 'projectId' | 'meterId' | 'period' | 'threshold'>;
  /** The request's record is missing or incomplete; the request itself is not affected. */
  record_write_failed: Line<'requestId'>;
  /** A change through the admin API; its fields before and after are in the audit. */
  admin_change: Line<
    'requestId' | 'operator' | 'action',
    'projectId' | 'planId' | 'keyId' | 'leaked'
  >;
  /** A request had a key that was revoked more than 15 s before, and got 401; once in each process. */
  revoked_key_used: Line<'keyId' | 'projectId'>;
  /** The audit has the change of this request with the outcome `unknown`; its lines admin_change have the ids. */
  audit_write_failed: Line<'requestId'>;
  /** The history of all projects was brought up to date. */
  history_folded: Line<never>;
  /**
   * Closed periods of a project and the records of its requests differ by more than a few killed processes explain, and by
   * more than was reported before.
   */
  history_differs: Line<'projectId' | 'units' | 'difference'>;
  /** Spans or metrics that an OTLP collector rejected for what they are; `status` is its answer. */
  otlp_dropped: Line<'count' | 'status'>;
  /** The collector did not take the records, which are exported again. */
  otlp_unavailable: Line<'count' | 'failure'>;
  /** A receiver rejected an alert for what it is. */
  alert_dropped: Line<'receiver' | 'failure'>;
  /** A receiver did not take an alert, which is sent again. */
  alert_unavailable: Line<'receiver' | 'failure'>;
};
export type LogEvent = keyof LogEvents;

/** CONTRACT with lib/: the events that may be alerts to people. */
export const ALERT_EVENTS = [
  'breaker_opened',
  'breaker_closed',
  'usage_threshold',
  'admin_change',
  'revoked_key_used',
] as const satisfies LogEvent[];

/** The `fault` of a request while the breakers of all its targets are open. */
export const NO_HEALTHY_TARGET = 'no_healthy_target';
/** Code of a 503 for want of a provider's declared capacity. */
export const CAPACITY = 'capacity';

/** The `fault` of a response that a budget ended. */
export const BUDGET_EXCEEDED = 'budget_exceeded';

/** Part of `failure` if a table was unavailable. */
export const STORE_UNAVAILABLE = 'StoreUnavailable';

/** The same of a table that throttled the call, which was therefore not applied. */
export const STORE_THROTTLED = 'StoreThrottled';
