import type { Target } from '../catalog/catalog.ts';
import type { GenerationEvent, GenerationRequest } from '../protocols/generation.ts';
import type { UpstreamProtocol } from '../protocols/protocol.ts';

/** A response in flight: one batch of events per network chunk; an empty one shows it is alive. */
export type EventBatches = AsyncGenerator<GenerationEvent[], void, void>;

export type UpstreamCall = {
  request: GenerationRequest;
  target: Target;
  /** The target's protocol. */
  protocol: UpstreamProtocol;
  /** Cap for wires that demand one: the catalog's `max_output_tokens`. */
  maxOutputTokens: number;
  /** Aborts the call: the client disconnected, or a deadline passed. */
  signal: AbortSignal;
};

/** Implemented by createHttpUpstream (http-upstream.ts). */
export type Upstream = {
  /**
   * Sends the request and resolves once the upstream has accepted it (status 2xx).
   * @throws UpstreamError before and during the answer.
   */
  open(call: UpstreamCall): Promise<EventBatches>;
};
