import type { UpstreamError } from '../protocols/upstream-error.ts';

/** When a fault opens a target's breaker, and for how long. */
export type TripRule = {
  /** Failures in a row that it takes. */
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

/** What only an operator can mend is not worth a request a second. */
const credentialRefused: TripRule = { after: 1, openMs: () => OPERATOR_MS };
/** The same, unless it was one prompt: some providers answer 402, 403 and 404 to what a request asks for. */
const accessRefused: TripRule = { after: 3, openMs: () => OPERATOR_MS };

const cooldown = ({ retryAfterSeconds }: UpstreamError): TripRule => {
  const asked = retryAfterSeconds ?? DEFAULT_COOLDOWN_SECONDS;
  const seconds = Math.min(MAX_COOLDOWN_SECONDS, Math.max(1, asked));
  return { after: 1, openMs: () => seconds * 1000 };
};

const failure: TripRule = { after: 5, openMs: backOff };
/** Nobody listens: the next caller would wait for nothing. */
const unreachable: TripRule = { after: 2, openMs: backOff };

const byStatus = (fault: UpstreamError): TripRule | undefined => {
  switch (fault.status) {
    case 400:
    case 413:
    case 422:
      // The request's fault, not the target's.
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

/** Undefined for what says nothing about the target. */
export const tripRuleFor = (fault: UpstreamError): TripRule | undefined => {
  switch (fault.kind) {
    case 'status':
      return byStatus(fault);
    case 'connect':
      return unreachable;
    case 'context-overflow':
    case 'aborted':
    case 'deadline':
      return undefined;
    default:
      return failure;
  }
};

/** A refusal of the request as such: the target works, whatever it thinks of what it was asked. */
export const provesTargetAlive = (fault: UpstreamError): boolean =>
  fault.kind === 'context-overflow' || (fault.kind === 'status' && !tripRuleFor(fault));
