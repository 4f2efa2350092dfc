import type { UpstreamError } from '../protocols/upstream-error.ts';

/** When a failure opens a target's breaker, and for how long. */
export type TripRule = {
  /** Failures in a row that open it. */
  after: number;
  /** Milliseconds, before jitter; `openings` counts earlier times in a row. */
  openMs(openings: number): number;
};

const BASE_MS = 10_000;
const MAX_MS = 120_000;
const OPERATOR_MS = 5 * 60_000;
const MAX_COOLDOWN_SECONDS = 60;
const DEFAULT_COOLDOWN_SECONDS = 10;

const backOff = (openings: number): number => Math.min(MAX_MS, BASE_MS * 2 ** openings);

/** Only an operator can fix a rejected credential: probe every 5 minutes. */
const credentialRefused: TripRule = { after: 1, openMs: () => OPERATOR_MS };
/** After 3 in a row, because some providers return 402, 403 and 404 for one prompt. */
const accessRefused: TripRule = { after: 3, openMs: () => OPERATOR_MS };

const cooldown = ({ retryAfterSeconds }: UpstreamError): TripRule => {
  const asked = retryAfterSeconds ?? DEFAULT_COOLDOWN_SECONDS;
  const seconds = Math.min(MAX_COOLDOWN_SECONDS, Math.max(1, asked));
  return { after: 1, openMs: () => seconds * 1000 };
};

const failure: TripRule = { after: 5, openMs: backOff };
/** The target does not accept connections: each attempt would wait for the connect timeout. */
const unreachable: TripRule = { after: 2, openMs: backOff };

const byStatus = (fault: UpstreamError): TripRule | undefined => {
  switch (fault.status) {
    case 400:
    case 413:
    case 422:
      // Caused by the request, not by the target.
      return undefined;
    case 401:
      return credentialRefused;
    case 402:
    case 403:
    case 404:
      return accessRefused;
    case 429:
      return cooldown(fault);
    default:
      return failure;
  }
};

/** Returns undefined for failures that are not evidence about the target. */
export const tripRuleFor = (fault: UpstreamError): TripRule | undefined => {
  switch (fault.kind) {
    case 'status':
      return byStatus(fault);
    case 'connect':
      return unreachable;
    case 'context-overflow':
    case 'aborted':
    case 'deadline':
    case 'output-limit':
      return undefined;
    default:
      return failure;
  }
};

/** Whether a failure rejects only the request, which proves that the target works. */
export const provesTargetAlive = (fault: UpstreamError): boolean =>
  fault.kind === 'context-overflow' || (fault.kind === 'status' && !tripRuleFor(fault));
