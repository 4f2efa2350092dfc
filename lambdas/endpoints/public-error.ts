import { type FaultKind, UpstreamFault } from '../protocols/upstream-fault.ts';
import { judge } from '../routing/verdict.ts';
import { type ApiError, toApiError } from '../support/errors.ts';

/** Whatever went wrong, as the error that may be shown. */
export const publicError = (error: unknown): ApiError =>
  error instanceof UpstreamFault ? judge(error).error : toApiError(error);

/** What became of an upstream after its first content, for the log line. */
export const faultOf = (error: unknown): { fault?: FaultKind } =>
  error instanceof UpstreamFault ? { fault: error.kind } : {};
