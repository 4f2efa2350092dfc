import type {
  UpstreamError,
  UpstreamErrorKind,
} from '../../protocols/rejections/upstream-error.ts';
import type { RandomBytes } from '../../support/ids.ts';

/** Spread of openings, so that environments do not probe all at once. */
const JITTER = 0.2;

export const createJitter = (randomBytes: RandomBytes) => (ms: number) => {
  const [byte = 0] = randomBytes(1);
  return Math.round(ms * (1 - JITTER + (2 * JITTER * byte) / 255));
};

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

const rule = (own: Omit<TripRule, 'ownMs'> & Partial<TripRule>): TripRule => ({
  ownMs: ownBackOff,
  ...own,
});

const failure = rule({ category: 'failure', opens: 'target', after: 5, openMs: backOff });

/** The target does not accept connections: each attempt would wait for the connect timeout. */
const unreachable = rule({ ...failure, category: 'connection', opens: 'connection', after: 2 });

/**
 * After 3 in a row, because some providers return 402, 403 and 404 for one request, e.g. 402 for a large
 * `max_tokens`. One key or project alone backs off instead of waiting for an operator: its failures are more likely
 * those of its prompts.
 */
const accessRefused = rule({
  ...{ category: 'access', opens: 'target', after: 3, openMs: untilRepaired },
});

/** What the credential may not do, or a flagged prompt. */
const permissionDenied = rule({ ...accessRefused, category: 'permission', opens: 'credential' });

/**
 * Only an operator can fix a rejected credential: probe every 5 minutes. A restricted one may lack what a single request
 * asks for, so that the failure of one caller proves nothing, as with every other status.
 */
const credentialRefused = rule({ ...permissionDenied, category: 'credential', after: 1 });

/**
 * Money or a limit of spending: no wait helps any caller. Providers that return 402 may do so for one request, e.g. for
 * its `max_tokens`.
 */
const outOfQuota = rule({ ...accessRefused, category: 'quota', after: 1, ownMs: untilRepaired });

/** Not before the time that the provider names: of an earlier call it would deny. */
const cooldown = ({ retryAfterSeconds }: UpstreamError): TripRule => {
  const asked = Math.min(MAX_COOLDOWN_SECONDS, Math.max(1, retryAfterSeconds ?? 0)) / (1 - JITTER);
  const seconds = retryAfterSeconds === undefined ? DEFAULT_COOLDOWN_SECONDS : asked;
  const openMs = () => Math.round(seconds * 1000);
  const ownMs = () => Math.min(OWN_MAX_MS, openMs());
  return { ...failure, after: 1, openMs, ownMs, category: 'cooldown' };
};

const BY_STATUS: Record<number, (error: UpstreamError) => TripRule | undefined> = {
  ...{ 400: () => undefined, 413: () => undefined, 422: () => undefined },
  403: () => permissionDenied,
  404: () => accessRefused,
  429: cooldown,
};

/** Caused by the request or its end; a secret that this environment cannot read or send does not concern the target. */
const NO_EVIDENCE: readonly UpstreamErrorKind[] = [
  ...(['credential', 'context-overflow', 'aborted', 'deadline'] as const),
  ...(['output-limit', 'lossy', 'capacity'] as const),
];

/** Returns undefined for failures that are not evidence about the target. */
export const tripRuleFor = (error: UpstreamError): TripRule | undefined => {
  const { kind, status = 0, isAboutInput } = error;
  if (NO_EVIDENCE.includes(kind)) return undefined;
  switch (kind) {
    case 'status':
      // Caused by the request, not by the target.
      if (isAboutInput) return undefined;
      return status in BY_STATUS ? BY_STATUS[status]?.(error) : failure;
    // A 400 or 403 that blames the credential may still be one that a prompt causes.
    case 'credential-refused':
      return status === 401 ? credentialRefused : permissionDenied;
    case 'no-quota':
      return status === 402 ? accessRefused : outOfQuota;
    case 'unknown-model':
      return accessRefused;
    case 'connect':
      return unreachable;
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
