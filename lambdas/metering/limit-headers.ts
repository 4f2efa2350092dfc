import type { RequestLimits } from '../protocols/protocol.ts';
import { formatInstant, secondsUntil } from '../support/time.ts';

/** Limits of the minute and of the plan's period, with what remains of each. */
export type Limits = { requests: RequestLimits; quota: RequestLimits };

/** Headers of every metered generation response, 402 and 429 included. */
export const limitHeaders = ({ requests, quota }: Limits, now: number): Record<string, string> => ({
  'x-ratelimit-limit-requests': String(requests.limit),
  'x-ratelimit-remaining-requests': String(requests.remaining),
  'x-ratelimit-reset-requests': `${secondsUntil(requests.resetAt, now)}s`,
  'x-quota-limit': String(quota.limit),
  'x-quota-remaining': String(quota.remaining),
  'x-quota-reset': formatInstant(quota.resetAt),
});
