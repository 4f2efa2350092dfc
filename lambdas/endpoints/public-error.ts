import type { RequestFields } from '../log-events.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { classifyFailure } from '../routing/classify-failure.ts';
import { ApiError, toApiError } from '../support/errors.ts';

/** Whatever went wrong, as the error that may be shown. */
export const publicError = (error: unknown): ApiError =>
  error instanceof UpstreamError ? classifyFailure(error).error : toApiError(error);

/** Whether the answer ended because nobody waits for it any more. */
export const isAbandoned = (error: unknown): boolean => {
  const fault = error instanceof ApiError ? error.cause : error;
  return fault instanceof UpstreamError && fault.kind === 'aborted';
};

/** How an answer failed, for the log line: kinds and codes only, never a text of the upstream's. */
export const endOf = (error: unknown): Pick<RequestFields, 'outcome' | 'fault'> => {
  if (isAbandoned(error)) return { outcome: 'abandoned' };
  if (error instanceof UpstreamError) return { outcome: 'failed', fault: error.kind };
  const code = error instanceof ApiError ? error.code : undefined;
  return { outcome: 'failed', ...(code === undefined ? {} : { fault: code }) };
};
