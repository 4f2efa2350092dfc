import type { UpstreamError } from '../../protocols/rejections/upstream-error.ts';
import { JITTER } from './pace.ts';

/** When a failure opens a breaker, which one, and for how long. */
export type TripRule = {
  /** Failures in a row that open it. */
  after: number;
  /** Milliseconds, before jitter; `openings` counts earlier times in a row. */
  openMs(openings: number): number;
  /** The same for a key or a project whose requests alone have failed. */
  ownMs(openings: number): number;
  /**
   * Of the breakers of all callers, which one: the target's; that of its credential, which a new version of the secret
   * closes; or that of this environment's connections to it, and the target's if another environment cannot connect
   * either.
   */
  opens: 'target' | 'credential' | 'connection';
  /** Only failures of one category add up, except that all but `connection` count for `failure`. */
  category:
    | 'failure'
    | 'connection'
    | 'access'
    | 'permission'
    | 'credential'
    | 'quota'
    | 'cooldown';
};

const BASE_MS = 10_000;
const MAX_MS = 120_000;
const OPERATOR_MS = 5 * 60_000;
/** Longer waits are those of days and months, which an operator may shorten at any time. */
const MAX_COOLDOWN_SECONDS = 3_600;
const DEFAULT_COOLDOWN_SECONDS = 10;

const backOff = (openings: number): number => Math.min(MAX_MS, BASE_MS * 2 ** openings);
/** A key or project alone waits no longer: the next prompt may be one that the target answers. */
const OWN_MAX_MS = 20_000;
const ownBackOff = (openings: number): number => Math.min(OWN_MAX_MS, backOff(openings));
const untilRepaired = (): number => OPERATOR_MS;

const failure: TripRule = {
  after: 5,
  openMs: backOff,
  ownMs: ownBackOff,
  opens: 'target',
  category: 'failure',
};

/** The target does not accept connections: each attempt would wait for the connect timeout. */
const unreachable: TripRule = { ...failure, after: 2, opens: 'connection', category: 'connection' };

/**
 * Only an operator can fix a rejected credential: probe every 5 minutes. A restricted one may lack what a single request
 * asks for, so that the failure of one caller proves nothing, as with every other status.
 */
const credentialRefused: TripRule = {
  after: 1,
  openMs: untilRepaired,
  ownMs: ownBackOff,
  opens: 'credential',
  category: 'credential',
};

/**
 * After 3 in a row, because some providers return 402, 403 and 404 for one request, e.g. 402 for a large
 * `max_tokens`. One key or project alone backs off instead of waiting for an operator: its failures are more likely
 * those of its prompts.
 */
const accessRefused: TripRule = {
  after: 3,
  openMs: untilRepaired,
  ownMs: ownBackOff,
  opens: 'target',
  category: 'access',
};

/**
 * Money or a limit of spending: no wait helps any caller. Providers that return 402 may do so for one request, e.g. for
 * its `max_tokens`.
 */
const outOfQuota: TripRule = {
  after: 1,
  openMs: untilRepaired,
  ownMs: untilRepaired,
  opens: 'target',
  category: 'quota',
};

/** What the credential may not do, or a flagged prompt. */
const permissionDenied: TripRule = {
  ...accessRefused,
  opens: 'credential',
  category: 'permission',
};

/** Not before the time that the provider names: of an earlier call it would deny. */
const cooldown = ({ retryAfterSeconds }: UpstreamError): TripRule => {
  const asked = Math.min(MAX_COOLDOWN_SECONDS, Math.max(1, retryAfterSeconds ?? 0)) / (1 - JITTER);
  const seconds = retryAfterSeconds === undefined ? DEFAULT_COOLDOWN_SECONDS : asked;
  const openMs = () => Math.round(seconds * 1000);
  const ownMs = () => Math.min(OWN_MAX_MS, openMs());
  return { ...failure, after: 1, openMs, ownMs, category: 'cooldown' };
};

const byStatus = (error: UpstreamError): TripRule | undefined => {
  // Caused by the request, not by the target.
  if (error.isAboutInput) return undefined;
  switch (error.status) {
    case 400:
    case 413:
    case 422:
      return undefined;
    case 403:
      return permissionDenied;
    case 404:
      return accessRefused;
    case 429:
      return cooldown(error);
    default:
      return failure;
  }
};

/** Returns undefined for failures that are not evidence about the target. */
export const tripRuleFor = (error: UpstreamError): TripRule | undefined => {
  switch (error.kind) {
    case 'status':
      return byStatus(error);
    // A 400 or 403 that blames the credential may still be one that a prompt causes.
    case 'credential-refused':
      return error.status === 401 ? credentialRefused : permissionDenied;
    case 'no-quota':
      return error.status === 402 ? accessRefused : outOfQuota;
    case 'unknown-model':
      return accessRefused;
    case 'connect':
      return unreachable;
    // A secret that this environment cannot read or send does not concern the target.
    case 'credential':
    case 'context-overflow':
    case 'aborted':
    case 'deadline':
    case 'output-limit':
    case 'lossy':
    case 'capacity':
      return undefined;
    default:
      return failure;
  }
};

/**
 * Whether a failure is one of the account at the provider: its money, or its limit of the model, which has room again at a
 * time that the provider names. A 429 without one may be about the capacity behind a single target.
 */
export const isOfAccount = ({ kind, status, retryAfterSeconds }: UpstreamError): boolean =>
  kind === 'no-quota' || (kind === 'status' && status === 429 && retryAfterSeconds !== undefined);

/** Whether a failure rejects only the request, which proves that the target works. */
export const provesTargetAlive = (error: UpstreamError): boolean =>
  error.kind === 'context-overflow' || (error.kind === 'status' && !tripRuleFor(error));
