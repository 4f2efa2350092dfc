import { omitUndefined } from './omit-undefined.ts';

/**
 * The one error that reaches a caller. `message` is public and written by us; `cause` is private and
 * never leaves the process (upstream text, URLs and stacks live there).
 */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'api_error';

const STATUS = {
  invalid_request_error: 400,
  authentication_error: 401,
  insufficient_quota: 402,
  rate_limit_error: 429,
  api_error: 500,
} as const satisfies Record<ErrorType, number>;

export type ApiErrorOptions = {
  /** HTTP status; the one that SDKs know the type by unless given. */
  status?: number;
  headers?: Record<string, string>;
  /** Machine-readable detail that the chat family's SDKs expose, e.g. `context_length_exceeded`. */
  code?: string;
  /** Path of the offending field, e.g. `messages.0.content`. */
  param?: string;
  /** Machine-readable detail that the messages family's SDKs expose; `error_code` names it. */
  details?: { error_code: string };
  cause?: unknown;
};

export class ApiError extends Error {
  readonly type: ErrorType;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly code: string | undefined;
  readonly param: string | undefined;
  readonly details: { error_code: string } | undefined;

  constructor(type: ErrorType, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.type = type;
    this.status = options.status ?? STATUS[type];
    this.headers = options.headers ?? {};
    this.code = options.code;
    this.param = options.param;
    this.details = options.details;
  }
}

/** Agents back off for minutes on a bare 401 or 402; this header makes every SDK give up at once. */
export const DO_NOT_RETRY = { 'x-should-retry': 'false' };

export const invalidRequest = (message: string, options: ApiErrorOptions = {}): ApiError =>
  new ApiError('invalid_request_error', message, options);

export const unauthenticated = (message: string): ApiError =>
  new ApiError('authentication_error', message, { headers: DO_NOT_RETRY });

export const notFound = (message: string): ApiError => invalidRequest(message, { status: 404 });

/**
 * The prompt does not fit the model; `counts` are its tokens and the most that the model takes. Agents read
 * the two numbers out of this wording, and shorten their history by them.
 */
export const contextOverflow = (
  counts: { tokens: number; most: number } | undefined,
  cause?: unknown,
): ApiError => {
  const howFar = counts
    ? `${counts.tokens} tokens > ${counts.most} maximum`
    : 'the request exceeds the context of the model';
  return invalidRequest(`prompt is too long: ${howFar}`, {
    code: 'context_length_exceeded',
    param: 'messages',
    cause,
  });
};

/** Quota used up; `headers` say until when. */
export const quotaExhausted = (message: string, headers: Record<string, string>): ApiError =>
  new ApiError('insufficient_quota', message, { headers: { ...headers, ...DO_NOT_RETRY } });

export const rateLimited = (message: string, headers: Record<string, string>): ApiError =>
  new ApiError('rate_limit_error', message, { headers });

/** A failure of ours or of an upstream: 500 unless `options.status` says which 5xx. */
export const apiError = (message: string, options: ApiErrorOptions = {}): ApiError =>
  new ApiError('api_error', message, options);

/** Any thrown value as the error that may be shown; an unknown one keeps its text private. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : apiError('The router failed to process the request.', { cause: error });

/** The same error with more headers; its own win. */
export const withHeaders = (error: ApiError, headers: Record<string, string>): ApiError => {
  const { type, message, status, cause, code, param, details } = error;
  const options = { status, cause, headers: { ...headers, ...error.headers } };
  return new ApiError(type, message, { ...options, ...omitUndefined({ code, param, details }) });
};
