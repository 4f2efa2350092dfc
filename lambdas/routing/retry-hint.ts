import { type ApiError, withHeaders } from '../support/errors.ts';

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
