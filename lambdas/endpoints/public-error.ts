import { UpstreamFault } from '../protocols/upstream-fault.ts';
import { judge } from '../routing/verdict.ts';
import { ApiError, toApiError } from '../support/errors.ts';

/** Whatever went wrong, as the error that may be shown. */
export const publicError = (error: unknown): ApiError =>
  error instanceof UpstreamFault ? judge(error).error : toApiError(error);

/** Why an answer failed, for the log line: kinds and codes only, never a text of the upstream's. */
export const faultOf = (error: unknown): { fault?: string | undefined } => {
  if (error instanceof UpstreamFault) return { fault: error.kind };
  return error instanceof ApiError && error.code !== undefined ? { fault: error.code } : {};
};
