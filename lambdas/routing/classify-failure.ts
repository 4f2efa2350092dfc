import type { UpstreamError, UpstreamErrorKind } from '../protocols/upstream-error.ts';
import {
  type ApiError,
  apiError,
  contextOverflow,
  DO_NOT_RETRY,
  withHeaders,
} from '../support/errors.ts';

/** What an upstream's failure means for the request. */
export type FailureClass = {
  /** Whether another target may do better. */
  retryNextTarget: boolean;
  /** What the caller is told if nothing does. Never the upstream's own text. */
  error: ApiError;
};

const busy = (cause: UpstreamError): ApiError =>
  apiError('The model is busy at its provider. Retry shortly.', { status: 503, cause });

const unavailable = (status: number) => (cause: UpstreamError) =>
  apiError('The model is temporarily unavailable.', { status, cause });

/** The same again would take as long again. */
const outOfTime = (cause: UpstreamError): ApiError =>
  apiError('The model did not answer in time.', { status: 504, headers: DO_NOT_RETRY, cause });

const misconfigured = (cause: UpstreamError): ApiError =>
  apiError('The model is not available: its provider refused the router.', {
    status: 500,
    headers: DO_NOT_RETRY,
    cause,
  });

/** Nobody reads it; the status stands in the log, and is the one that proxies use for this. */
const callerLeft = (cause: UpstreamError): ApiError =>
  apiError('The caller has gone.', { status: 499, cause });

const refused = (cause: UpstreamError): ApiError =>
  apiError('The provider of the model refused the request.', {
    status: 502,
    headers: DO_NOT_RETRY,
    cause,
  });

/** By status, for those that say more than "unavailable". Our own 401, 402 and 429 are never these. */
const BY_STATUS: Record<number, { movesOn: boolean; error: (fault: UpstreamError) => ApiError }> = {
  400: { movesOn: false, error: refused },
  401: { movesOn: true, error: misconfigured },
  403: { movesOn: true, error: misconfigured },
  413: { movesOn: false, error: refused },
  422: { movesOn: false, error: refused },
  429: { movesOn: true, error: busy },
  503: { movesOn: true, error: busy },
  529: { movesOn: true, error: busy },
};

const BY_KIND: Partial<Record<UpstreamErrorKind, (fault: UpstreamError) => ApiError>> = {
  credential: unavailable(503),
  'first-event-timeout': unavailable(504),
  'idle-timeout': unavailable(504),
  deadline: outOfTime,
  aborted: callerLeft,
  'context-overflow': (cause) => contextOverflow(cause.overflow, cause),
};

/** Failures after which no target may be tried: the request's own, or nobody is there to answer. */
const FINAL: readonly UpstreamErrorKind[] = ['context-overflow', 'deadline', 'aborted'];

/** Whether to go on after a failure of an upstream, and what to tell the caller if nothing helps. */
export const classifyFailure = (fault: UpstreamError): FailureClass => {
  const byStatus = fault.kind === 'status' ? BY_STATUS[fault.status ?? 0] : undefined;
  if (byStatus) return { retryNextTarget: byStatus.movesOn, error: byStatus.error(fault) };
  const error = (BY_KIND[fault.kind] ?? unavailable(502))(fault);
  return { retryNextTarget: !FINAL.includes(fault.kind), error };
};

/** SDKs sleep for as long as they are told, some without a cap. Seconds. */
const MAX_SECONDS = 60;
/** For targets that are busy and do not say for how long. */
const DEFAULT_SECONDS = 10;

const isFinal = ({ headers }: ApiError): boolean => headers['x-should-retry'] === 'false';

/**
 * The same error with a `retry-after` of 1 to 60 s where a retry makes sense: the shortest wait that any
 * target asked for, since any of them may answer then. A 503 always has one.
 */
export const withRetryHint = (error: ApiError, askedSeconds: number[]): ApiError => {
  if (isFinal(error) || error.status < 500) return error;
  if (askedSeconds.length === 0 && error.status !== 503) return error;
  const shortest = Math.min(...(askedSeconds.length > 0 ? askedSeconds : [DEFAULT_SECONDS]));
  const seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(shortest)));
  return withHeaders(error, { 'retry-after': String(seconds) });
};
