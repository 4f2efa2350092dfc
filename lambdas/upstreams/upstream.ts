import type { Target } from '../catalog/catalog.ts';
import type { JsonSource } from '../protocols/bytes/json.ts';
import type { GenerationEvent, GenerationRequest, Usage } from '../protocols/generation.ts';
import type { UpstreamProtocol } from '../protocols/protocol.ts';
import type { ProviderLimit } from '../protocols/provider-limits.ts';

/** A response in flight: one batch of events per network chunk; an empty one shows it is alive. */
export type EventBatches = AsyncGenerator<GenerationEvent[], void, void>;

/** What one response may hold; beyond it the response is cut, as at the token limit. */
export type AnswerLimits = {
  /** UTF-16 units of text, thinking and tool arguments. */
  characters: number;
  /** Server-Sent Events. */
  messages: number;
  /** Characters of events beyond the usual size of one. */
  overhead: number;
};

export type UpstreamCall = {
  request: GenerationRequest;
  target: Target;
  /** Whose call it is: what a rejection of it teaches. */
  projectId?: string | undefined;
  /** Gets the target in each form before it is called so. @throws UpstreamError if it must not be */
  onForm?: ((target: Target) => void) | undefined;
  /** Gets what the last response states of the provider's limits, and what it has counted so far, or in all. */
  heard?:
    | { limits?: ProviderLimit[]; usage?: Partial<Usage> | undefined; isFinal?: boolean }
    | undefined;
  protocol: UpstreamProtocol;
  /** The caller's body: what it shares with the upstream's is copied from a large one. */
  source?: JsonSource | undefined;
  /** Cap for wires that demand one: the catalog's `max_output_tokens`. */
  maxOutputTokens: number;
  limits: AnswerLimits;
  /** Of the request that is charged for the call, for targets with an `idempotencyHeader`. */
  requestId?: string | undefined;
  /** W3C trace context to send along. */
  traceparent?: string | undefined;
  /** Aborts the call: the client disconnected, or a deadline passed. */
  signal: AbortSignal;
  /** Before the request is sent once more, as a kept-alive connection was closed without a byte. @throws Error: it is not */
  onRepeat?: (() => Promise<void>) | undefined;
};

/** Implemented by createHttpUpstream (http-upstream.ts). */
export type Upstream = {
  /**
   * Sends the request and resolves once the upstream has accepted it (status 2xx).
   * @throws UpstreamError before and during the answer.
   */
  open(call: UpstreamCall): Promise<EventBatches>;
  /** Starts to read what calls of these targets need, concurrently with what the caller awaits. */
  prefetch(targets: Target[]): void;
  /** Version of the credential that a call of the target would use now; undefined before the first one. */
  credentialVersion(target: Target): string | undefined;
};
