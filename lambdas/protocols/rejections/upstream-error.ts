import type { ModelDifference } from './model-difference.ts';

/**
 * A failure of an upstream. Thrown by decoders and by the HTTP upstream, classified by routing/. The
 * message is private: it may quote the upstream's text.
 */
export type UpstreamErrorKind =
  /** The upstream's credential is unavailable or cannot sign the request. */
  | 'credential'
  | 'connect'
  | 'reset'
  | 'first-event-timeout'
  | 'idle-timeout'
  | 'deadline'
  /** The response is longer than the request allows. */
  | 'output-limit'
  | 'status'
  /** The provider rejects the credential itself. */
  | 'credential-refused'
  /** The account at the provider has no money or quota left. */
  | 'no-quota'
  /** The provider has no such model or path: a mistake in the catalog. */
  | 'unknown-model'
  /** The prompt is too long for the model. */
  | 'context-overflow'
  /** The target was not called: a strict request would lose a field on it. The caller's error is the cause. */
  | 'lossy'
  /** The target was not called: the declared capacity of its account has no room, or never has for the request. */
  | 'capacity'
  | 'redirect'
  | 'malformed'
  | 'truncated'
  | 'error-event'
  | 'aborted';

/** The prompt's tokens and the model's maximum, as the upstream counted them. */
export type Overflow = { tokens: number; most: number };

/** What is known of a failure, besides its kind. */
type Facts = Omit<UpstreamError, keyof Error | 'kind'>;

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;
  /** HTTP status of the upstream's response, if any. */
  declare readonly status?: number | undefined;
  /** How long the upstream asks to wait, in seconds. */
  declare readonly retryAfterSeconds?: number | undefined;
  /** By how much the prompt is too long, if the upstream reports it. */
  declare readonly overflow?: Overflow | undefined;
  /** Version of the credential that the upstream rejected. */
  declare readonly credentialVersion?: string | undefined;
  /** Paths of the parameters that the upstream's error names, by their names in its protocol. */
  readonly rejectedPaths: readonly string[] = [];
  /** Whether it is about what the request contains, e.g. a prompt that the provider flagged. */
  readonly isAboutInput: boolean = false;
  /** The difference of the model that the upstream's rejection names, if it is a known one. */
  declare readonly difference?: ModelDifference | undefined;
  /** The provider's words as records and callers may see them, at most 200 characters. */
  declare readonly reason?: string | undefined;
  /** The error that a 200 response contained, or what it was instead of a response, as it was sent. Private. */
  declare readonly sent?: Record<string, unknown> | undefined;

  constructor(
    kind: UpstreamErrorKind,
    message: string,
    { cause, ...facts }: Partial<Facts> & { cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'UpstreamError';
    this.kind = kind;
    Object.assign(this, facts);
  }
}

/** Whether the credential may be why the call was rejected. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.kind === 'credential-refused' || error.status === 403);

/** The field of a rejected path: `tools` of `tools[0].function`. */
export const fieldOf = (path: string): string => path.split(/[.[]/)[0] ?? '';
