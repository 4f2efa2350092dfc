import { CAPACITY, NO_HEALTHY_TARGET } from '../log-events.ts';
import type { UpstreamError, UpstreamErrorKind } from '../protocols/rejections/upstream-error.ts';
import {
  type ApiError,
  apiError,
  contextOverflow,
  DO_NOT_RETRY,
  invalidRequest,
  toApiError,
  withHeaders,
} from '../support/errors.ts';
import type { OpenBreaker } from './breakers/attempt.ts';

/** How a request reacts to an upstream's failure. */
type FailureClass = {
  retryNextTarget: boolean;
  /** What the caller gets if no target responds. Never the upstream's text. */
  error: ApiError;
};

type ErrorOf = (failure: UpstreamError) => ApiError;

/** Of failures that the next request may not meet. */
const passing =
  (message: string, status: number): ErrorOf =>
  (cause) =>
    apiError(message, { status, cause });

/** Of failures that last until the operator acts, or that the same request repeats: no retry. */
const lasting =
  (message: string, status = 502): ErrorOf =>
  (cause) =>
    apiError(message, { status, headers: DO_NOT_RETRY, cause });

const UNAVAILABLE = 'The model is temporarily unavailable.';
const CREDENTIALS_REJECTED =
  "The model is unavailable: the router's provider credentials were rejected. The operator must act.";
export const REJECTED = "The model's provider rejected the request";

const busy = passing('The model is busy at its provider. Retry shortly.', 503);

const rejected: ErrorOf = (cause) =>
  invalidRequest(cause.reason === undefined ? `${REJECTED}.` : `${REJECTED}: ${cause.reason}`, {
    headers: DO_NOT_RETRY,
    cause,
  });

/** Of a field that the caller did not send. */
export const rejectedOfRouter = lasting(`${REJECTED}.`);

const tooLarge = (message: string, cause: UpstreamError): ApiError =>
  invalidRequest(message, { status: 413, headers: DO_NOT_RETRY, cause });

/** A 429 may be about the size of the request alone: another target may have a higher limit, a wait does not help. */
const limited: ErrorOf = (cause) => {
  if (!cause.isAboutInput) return busy(cause);
  const end = cause.reason ? `: ${cause.reason}` : '.';
  return tooLarge(`The request is too large for the limits of the model's provider${end}`, cause);
};

/** Of a declared quota: no room within the time that the plan waits, or more than the whole. */
const noCapacity: ErrorOf = (cause) =>
  cause.isAboutInput
    ? limited(cause)
    : apiError(
        "The capacity of the model's provider is used up; its tenants share what is left. Retry later.",
        { status: 503, code: CAPACITY, cause },
      );

/** By status, where it means more than "unavailable". The router's 429 differs from an upstream's. */
const BY_STATUS: Record<number, ErrorOf> = {
  400: rejected,
  403: lasting(
    "The model's provider denied the request: it flagged the prompt, or the router's credentials lack access.",
    500,
  ),
  404: lasting(
    'The model is unavailable: its provider does not offer it, or not for this request.',
  ),
  // The size is the caller's, with any body of the error.
  413: (cause) => tooLarge(`${REJECTED}: it is too large.`, cause),
  422: rejected,
  429: limited,
  503: busy,
  529: busy,
};

const BY_KIND: Partial<Record<UpstreamErrorKind, ErrorOf>> = {
  credential: passing(
    'The model is unavailable: the router could not read the credentials of its provider.',
    503,
  ),
  'credential-refused': lasting(CREDENTIALS_REJECTED, 500),
  'no-quota': lasting(
    "The model is unavailable: the router's account at its provider has no credit or quota left. The operator must act.",
  ),
  'unknown-model': lasting(
    'The model is unavailable: its provider has no such model or path. The operator must change the catalog.',
  ),
  // May differ at the next request: a model writes the arguments of its tools, a gateway its error pages.
  malformed: passing("The model's provider sent an invalid response.", 502),
  redirect: lasting(
    'The model is unavailable: its provider redirects to another address. The operator must change it.',
  ),
  'first-event-timeout': passing(UNAVAILABLE, 504),
  'idle-timeout': passing(UNAVAILABLE, 504),
  // The same request would take as long again.
  deadline: lasting('The model did not answer in time.', 504),
  // Never sent. 499 is logged, as nginx does.
  aborted: passing('The client disconnected.', 499),
  // Of a target that was not called. After other failures, theirs count: they may pass.
  lossy: ({ cause }) => withHeaders(toApiError(cause), DO_NOT_RETRY),
  capacity: noCapacity,
  'context-overflow': (cause) => contextOverflow(cause.overflow, cause),
};

/** Failures after which no target is tried: caused by the request, or the request has ended. */
const FINAL: readonly UpstreamErrorKind[] = ['context-overflow', 'deadline', 'aborted'];

/** Returns whether to try the next target, and the caller's error if none responds. */
export const classifyFailure = (failure: UpstreamError): FailureClass => {
  const { kind } = failure;
  const status = kind === 'status' ? (failure.status ?? 0) : 0;
  const errorOf = BY_STATUS[status] ?? BY_KIND[kind] ?? passing(UNAVAILABLE, 502);
  return { retryNextTarget: status !== 413 && !FINAL.includes(kind), error: errorOf(failure) };
};

/** SDKs wait as long as `retry-after` asks, some without a cap. Seconds. */
const MAX_SECONDS = 60;
/** For busy targets that send no `retry-after`. */
const DEFAULT_SECONDS = 10;

/** Whether SDKs are asked not to retry. */
const isFinal = ({ headers }: ApiError): boolean => headers['x-should-retry'] === 'false';

/**
 * Adds a `retry-after` of 1 to 60 s to errors that may be retried: the shortest wait that any target asked
 * for, because that target may respond then. A 503 always has one.
 */
export const withRetryHint = (error: ApiError, askedSeconds: number[]): ApiError => {
  if (isFinal(error) || error.status < 500) return error;
  if (askedSeconds.length === 0 && error.status !== 503) return error;
  const shortest = Math.min(...(askedSeconds.length > 0 ? askedSeconds : [DEFAULT_SECONDS]));
  const seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(shortest)));
  return withHeaders(error, { 'retry-after': String(seconds) });
};

// --- of all targets ---

/** SDKs retry twice, at most a minute apart: a longer wait exceeds both retries. */
const MAX_USEFUL_WAIT_MS = 120_000;

const isUseful = ({ waitMs }: OpenBreaker): boolean => waitMs <= MAX_USEFUL_WAIT_MS;

const REPAIRABLE = new Set(['failure', 'connection']);
/** One call a second goes through open breakers, so that a repair is detected before they would close. */
const MAX_REPAIR_SECONDS = 10;

/** A provider's own `retry-after` is passed on; what may be repaired at any moment is not waited for longer. */
const secondsOf = ({ waitMs, category }: OpenBreaker): number => {
  const mayEndSoon =
    category === undefined ? waitMs <= MAX_USEFUL_WAIT_MS : REPAIRABLE.has(category);
  return mayEndSoon ? Math.min(MAX_REPAIR_SECONDS, waitMs / 1000) : waitMs / 1000;
};

const allOpen = (open: OpenBreaker[]): ApiError => {
  const isRefused = open.every(({ category }) => category === 'credential');
  const message = isRefused ? CREDENTIALS_REJECTED : UNAVAILABLE;
  const error = apiError(message, { status: 503, code: NO_HEALTHY_TARGET });
  return withHeaders(
    withRetryHint(error, open.map(secondsOf)),
    open.some(isUseful) ? {} : DO_NOT_RETRY,
  );
};

/**
 * The caller's error after the failures of all targets that were called; the breakers of the others are `open`. Final
 * only if every failure is: another target may respond to a retry.
 */
export const errorOfAll = (failures: UpstreamError[], open: OpenBreaker[]): ApiError => {
  const classes = failures.map(classifyFailure);
  const last = classes.at(-1);
  if (!last) return allOpen(open);
  const askedSeconds = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  if (!last.retryNextTarget) return withRetryHint(last.error, askedSeconds);
  const retryable = classes.findLast(({ error }) => !isFinal(error));
  if (!retryable && open.some(isUseful)) return allOpen(open);
  return withRetryHint((retryable ?? last).error, askedSeconds);
};
