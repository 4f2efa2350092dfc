import type { RequestLimits } from '../protocols/protocol.ts';
import { formatInstant } from '../support/time.ts';

/** Limits of the minute and of the plan's period, with what remains of each. */
export type Limits = { requests: RequestLimits; quota: RequestLimits };

/** Whole seconds, rounded up: 1 to 60 until a minute's end. */
export const secondsUntil = (instant: number, now: number): number =>
  Math.max(1, Math.ceil((instant - now) / 1_000));

/** Headers of every metered generation response, 402 and 429 included. */
export const limitHeaders = ({ requests, quota }: Limits, now: number): Record<string, string> => ({
  'x-ratelimit-limit-requests': String(requests.limit),
  'x-ratelimit-remaining-requests': String(requests.remaining),
  'x-ratelimit-reset-requests': `${secondsUntil(requests.resetAt, now)}s`,
  'x-quota-limit': String(quota.limit),
  'x-quota-remaining': String(quota.remaining),
  'x-quota-reset': formatInstant(quota.resetAt),
});
