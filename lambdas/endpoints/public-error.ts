import type { RequestFields } from '../log-events.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { classifyFailure } from '../routing/classify-failure.ts';
import { ApiError, toApiError } from '../support/errors.ts';

/** Maps any error to the ApiError that the caller gets. */
export const publicError = (error: unknown): ApiError =>
  error instanceof UpstreamError ? classifyFailure(error).error : toApiError(error);

/** Whether the response ended because the client disconnected. */
export const isAbandoned = (error: unknown): boolean => {
  const cause = error instanceof ApiError ? error.cause : error;
  return cause instanceof UpstreamError && cause.kind === 'aborted';
};

/** Returns how a response failed, for the log line: kinds and codes, never an upstream's text. */
export const endOf = (error: unknown): Pick<RequestFields, 'outcome' | 'fault'> => {
  if (isAbandoned(error)) return { outcome: 'abandoned' };
  if (error instanceof UpstreamError) return { outcome: 'failed', fault: error.kind };
  const code = error instanceof ApiError ? error.code : undefined;
  return { outcome: 'failed', ...(code === undefined ? {} : { fault: code }) };
};
