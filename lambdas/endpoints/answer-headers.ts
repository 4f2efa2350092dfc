import { LimitReached } from '../metering/limit-errors.ts';
import { type Limits, limitHeaders } from '../metering/limit-headers.ts';
import { withHeaders } from '../support/errors.ts';
import type { Call } from './endpoint.ts';

/** The caller's limits, in the headers that both families share and in their own family's. */
export const answerHeaders = (call: Call, limits: Limits, now: number): Record<string, string> => ({
  ...limitHeaders(limits, now),
  ...call.protocol.limitHeaders(limits.requests),
});

/** The same for a failure: the period's unit is back, the minute's stays spent. */
export const failureHeaders = (call: Call, { requests, quota }: Limits, now: number) => {
  const remaining = Math.min(quota.limit, quota.remaining + 1);
  return answerHeaders(call, { requests, quota: { ...quota, remaining } }, now);
};

/** The meter's refusal with the headers of the caller's family; any other error as it is. */
export const withFamilyHeaders = (error: unknown, { protocol }: Call): unknown =>
  error instanceof LimitReached
    ? withHeaders(error, protocol.limitHeaders(error.limits.requests))
    : error;
