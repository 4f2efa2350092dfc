import { omitUndefined } from './objects.ts';

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

/** The prompt's tokens and the model's maximum; `counts` is undefined if an upstream reports neither. */
export type ContextOverflow = { counts: { tokens: number; most: number } | undefined };

export type ApiErrorOptions = {
  /** HTTP status; defaults to the one of the type in SDKs. */
  status?: number;
  headers?: Record<string, string>;
  /** Machine-readable detail that SDKs of the chat protocol expose, e.g. `context_length_exceeded`. */
  code?: string;
  /** Path of the offending field, e.g. `messages.0.content`. */
  param?: string;
  /** What the message ends with, of any length: values of the router, none of a caller. */
  list?: string;
  /** How far the prompt exceeds the model's context; a protocol may state it in its vendor's words. */
  overflow?: ContextOverflow | undefined;
  /** Machine-readable detail that SDKs of the messages protocol expose; `error_code` names it. */
  details?: { error_code: string };
  /** The limit that the request is above, for the record of its refusal; it is sent to no caller. */
  rule?: Rule;
  cause?: unknown;
};

/** A limit of the router by its name, and what of it the request has, if that is a number or a switch. */
export type Rule = { name?: string; limit?: number; value?: number | boolean | undefined };

/** Leaves out the middle of a text above 4,000 characters: an error may quote a value of any length. */
const shortened = (text: string): string =>
  text.length > 4_000 ? `${text.slice(0, 3_000)}…${text.slice(-900)}`.toWellFormed() : text;

export class ApiError extends Error {
  readonly type: ErrorType;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly code: string | undefined;
  readonly param: string | undefined;
  readonly overflow: ContextOverflow | undefined;
  readonly details: { error_code: string } | undefined;
  readonly rule: Rule | undefined;

  constructor(type: ErrorType, message: string, options: ApiErrorOptions = {}) {
    super([shortened(message), options.list].filter(Boolean).join(' '), { cause: options.cause });
    this.name = 'ApiError';
    this.type = type;
    this.status = options.status ?? STATUS[type];
    this.headers = options.headers ?? {};
    this.code = options.code;
    this.param = options.param && shortened(options.param);
    this.overflow = options.overflow;
    this.details = options.details;
    this.rule = options.rule;
  }
}

/** Without this header agents retry a 401 or 402 for minutes; with it every SDK stops at once. */
export const DO_NOT_RETRY = { 'x-should-retry': 'false' };

export const invalidRequest = (message: string, options: ApiErrorOptions = {}): ApiError =>
  new ApiError('invalid_request_error', message, options);

export const unauthenticated = (message: string): ApiError =>
  new ApiError('authentication_error', message, { headers: DO_NOT_RETRY, code: 'invalid_api_key' });

export const notFound = (message: string, options: ApiErrorOptions = {}): ApiError =>
  invalidRequest(message, { status: 404, ...options });

/**
 * The prompt exceeds the model's context; `counts` are its tokens and the maximum. Agents parse both
 * numbers from this text and shorten their history accordingly.
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
    ...(counts && { rule: { name: 'context_length', limit: counts.most, value: counts.tokens } }),
    overflow: { counts },
    cause,
  });
};

/** Quota exhausted; `headers` contain the time of its reset. */
export const quotaExhausted = (message: string, headers: Record<string, string>, rule: Rule) =>
  new ApiError('insufficient_quota', message, {
    headers: { ...headers, ...DO_NOT_RETRY },
    code: 'insufficient_quota',
    rule,
  });

export const rateLimited = (message: string, headers: Record<string, string>, rule: Rule) =>
  new ApiError('rate_limit_error', message, { headers, code: 'rate_limit_exceeded', rule });

/** A failure of the router or of an upstream: 500, or the 5xx in `options.status`. */
export const apiError = (message: string, options: ApiErrorOptions = {}): ApiError =>
  new ApiError('api_error', message, options);

/** A 503 of what is back within a second: most SDKs then repeat the request. */
export const retryLater = (message: string, cause?: unknown): ApiError =>
  apiError(message, { status: 503, headers: { 'retry-after': '1' }, cause });

/** Converts any thrown value to a public error; the text of an unknown one stays private. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : apiError('The router failed to process the request.', { cause: error });

/** Copies the error with other words or headers. */
const copyOf = (
  error: ApiError,
  changed: { message?: string; headers?: Record<string, string> },
): ApiError => {
  const { type, status, cause, code, param, overflow, details, rule } = error;
  const { message, headers } = { message: error.message, headers: error.headers, ...changed };
  const optional = omitUndefined({ code, param, details, rule });
  return new ApiError(type, message, { status, cause, overflow, headers, ...optional });
};

/** Copies the error with more headers; existing headers take precedence. */
export const withHeaders = (error: ApiError, headers: Record<string, string>): ApiError =>
  copyOf(error, { headers: { ...headers, ...error.headers } });

/** Copies the error with a sentence behind its message. */
export const withSentence = (error: ApiError, sentence: string): ApiError =>
  copyOf(error, { message: `${error.message} ${sentence}` });
