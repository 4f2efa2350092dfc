import { classifyFailure } from '#late/failures';
import type { RequestFields } from '../log-events.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { ApiError, DO_NOT_RETRY, invalidRequest, toApiError } from '../support/errors.ts';
import { Cancelled } from './cancellations.ts';

const cancelled = (cause: unknown): ApiError =>
  invalidRequest('The request was cancelled.', { status: 499, headers: DO_NOT_RETRY, cause });

/** Whether the response ended because the request was cancelled. */
export const isCancelled = (error: unknown): boolean =>
  (error instanceof ApiError ? error.cause : error) instanceof Cancelled;

/** Maps any error to the ApiError that the caller gets. */
export const publicError = (error: unknown): ApiError => {
  if (isCancelled(error)) return cancelled(error);
  return error instanceof UpstreamError ? classifyFailure(error).error : toApiError(error);
};

/** Whether the response ended because the client disconnected, or cancelled it. */
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
