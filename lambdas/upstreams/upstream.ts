import type { Target } from '../catalog/catalog.ts';
import type { GenerationEvent, GenerationRequest } from '../protocols/generation.ts';
import type { UpstreamProtocol } from '../protocols/protocol.ts';

/** An answer under way: events in batches, one batch per network chunk (an empty one is a sign of life). */
export type EventBatches = AsyncGenerator<GenerationEvent[], void, void>;

export type UpstreamCall = {
  request: GenerationRequest;
  target: Target;
  /** The target's protocol. */
  protocol: UpstreamProtocol;
  /** Cap for wires that demand one: the catalog's `max_output_tokens`. */
  maxOutputTokens: number;
  /** Ends the call: the caller has gone, or a deadline has passed. */
  signal: AbortSignal;
};

export type Upstream = {
  /**
   * Sends the request and resolves once the upstream has accepted it (status 2xx).
   * @throws UpstreamError before and during the answer.
   */
  open(call: UpstreamCall): Promise<EventBatches>;
};
