import type { ApiError } from '../support/errors.ts';
import type { Generation, GenerationEvent, GenerationRequest, ResponseMeta } from './generation.ts';
import type { ProtocolName } from './protocol-name.ts';
import type { SseMessage } from './sse.ts';

export type { ProtocolName };

/** What an encoder may know of the upstream it writes for. */
export type WireTarget = {
  /** The upstream's own name of the model. */
  model: string;
  /** Cap used where the wire demands one and the caller gave none. */
  maxOutputTokens: number;
  /** Wire name of the token cap; newer chat upstreams refuse the old one. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** What the upstream makes of the thinking in earlier answers, where it does not just ignore it. */
  reasoningHistory?: 'required' | 'refused' | undefined;
  /** `short`: the upstream takes only tool-call ids of nine letters and digits. */
  toolCallIds?: 'short' | undefined;
  /** `leading`: the upstream takes a system prompt only before the conversation. */
  systemTurns?: 'leading' | undefined;
  /** The target's own headers; a protocol may ask there for what its fields need. */
  headers?: Record<string, string> | undefined;
};

/** A decoder of one stream: a pure state machine, wire messages in, canonical events out. */
export type StreamDecoder = {
  /** @throws UpstreamError when the upstream says that it failed, or breaks its protocol. */
  push(message: { event?: string; data: string }): GenerationEvent[];
  /** The upstream closed. @throws UpstreamError unless the generation had finished. */
  end(): GenerationEvent[];
};

/** An encoder of one stream: canonical events in, messages of the caller's wire out. */
export type StreamEncoder = { push(event: GenerationEvent): SseMessage[] };

/** All that a protocol must answer. Nobody outside protocols/ may ask for its name to branch on it. */
export type Protocol = {
  readonly name: ProtocolName;
  /** Path below a target's `baseUrl` at which an upstream of this protocol generates. */
  readonly upstreamPath: string;
  /** Sent while an answer is silent, so that nothing on the way gives up. */
  readonly heartbeat: SseMessage;

  /** @throws ApiError 400 with the path of the offending field. */
  decodeRequest(body: unknown): GenerationRequest;
  /** @throws ApiError 400 when nothing of the conversation has a form on this wire. */
  encodeRequest(request: GenerationRequest, target: WireTarget): Record<string, unknown>;

  /**
   * An answer that came in one piece, as the events it would have been.
   * @throws UpstreamError when the body is no answer of this protocol.
   */
  decodeResponse(body: unknown, request: GenerationRequest): GenerationEvent[];
  encodeResponse(
    generation: Generation,
    request: GenerationRequest,
    label: ResponseMeta,
  ): Record<string, unknown>;

  streamDecoder(request: GenerationRequest): StreamDecoder;
  streamEncoder(request: GenerationRequest, label: ResponseMeta): StreamEncoder;

  encodeError(error: ApiError, requestId: string): Record<string, unknown>;
  /** The tail of a stream that failed after its first byte; both official SDKs throw on it. */
  encodeStreamError(error: ApiError, requestId: string, label: ResponseMeta): SseMessage[];

  /** Headers with which an upstream of this protocol is called. */
  upstreamHeaders(secret: string): Record<string, string>;
  /** The family's own names for the request limits, beside the ones both families share. */
  limitHeaders(limits: RequestLimits): Record<string, string>;
};

/** Requests per minute as told to the caller; `resetAt` in ms since the epoch. */
export type RequestLimits = { limit: number; remaining: number; resetAt: number };
