/**
 * An upstream broke its protocol or its promise. Thrown by decoders and by the HTTP upstream, judged by
 * routing/. The message is private: it may quote what the upstream said.
 */
export type UpstreamErrorKind =
  /** The upstream's credential could not be had from the secret store. */
  | 'credential'
  | 'connect'
  | 'reset'
  | 'first-event-timeout'
  | 'idle-timeout'
  | 'deadline'
  | 'status'
  /** The one refusal that is the caller's own: the prompt is too long for this model. */
  | 'context-overflow'
  | 'redirect'
  | 'malformed'
  | 'empty'
  | 'truncated'
  | 'error-event'
  | 'aborted';

/** The prompt's tokens and the most that the model takes, as the upstream counted them. */
export type Overflow = { tokens: number; most: number };

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;
  /** HTTP status the upstream answered with, where there was one. */
  readonly status: number | undefined;
  /** Seconds the upstream asked to wait, as it said it. */
  readonly retryAfterSeconds: number | undefined;
  /** How far a prompt was too long, where the upstream said so. */
  readonly overflow: Overflow | undefined;
  /** Parameters that a refusal of the request names, by their names on the upstream's wire. */
  readonly refusedFields: readonly string[];

  constructor(
    kind: UpstreamErrorKind,
    message: string,
    options: {
      status?: number;
      retryAfterSeconds?: number;
      overflow?: Overflow | undefined;
      refusedFields?: readonly string[];
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'UpstreamError';
    this.kind = kind;
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.overflow = options.overflow;
    this.refusedFields = options.refusedFields ?? [];
  }
}
