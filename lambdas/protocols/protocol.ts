import type { ApiError } from '../support/errors.ts';
import type { Shape } from './bytes/edits.ts';
import type { Json } from './bytes/json.ts';
import type { Edit } from './bytes/splice.ts';
import type { Marking } from './cache/members.ts';
import type {
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
  Usage,
} from './generation.ts';
import type { Profile } from './profile.ts';
import type { CallerProtocolName, ProtocolName, UpstreamProtocolName } from './protocol-name.ts';
import { UpstreamError } from './rejections/upstream-error.ts';
import type { SseMessage } from './streams/sse.ts';

export type { CallerProtocolName, ProtocolName, UpstreamProtocolName };

export type HeaderMap = Record<string, string>;

/** Headers of a caller's request; names in lower case. */
export type CallerHeaders = Readonly<HeaderMap>;

/** The part of a catalog target that its protocol reads. */
export type WireTarget = {
  /** The upstream's name of the model. */
  model: string;
  /** Token cap for protocols that require one, when the caller sets none. */
  maxOutputTokens: number;
  /** Header of the credential, where it differs from the protocol's default. */
  authHeader?: string | undefined;
  /** The target's static headers; a protocol may look there for the betas that its fields need. */
  headers?: HeaderMap | undefined;
} & Profile;

type CatalogTarget = Omit<WireTarget, 'maxOutputTokens'> & { profile?: Profile | undefined };

/** The last form of each target: it has many members to copy, and a request needs it twice. */
const wireTargets = new WeakMap<CatalogTarget, WireTarget>();

/** A target of the catalog as its protocol reads it: its own members before those of its profile. */
export const wireTargetOf = (target: CatalogTarget, maxOutputTokens: number): WireTarget => {
  const last = wireTargets.get(target);
  if (last?.maxOutputTokens === maxOutputTokens) return last;
  const { profile, ...own } = target;
  const wire = { ...profile, ...own, maxOutputTokens };
  wireTargets.set(target, wire);
  return wire;
};

/**
 * Decoder of one stream: a synchronous state machine, wire messages in, canonical events out. A delta of text or
 * thinking is one string of its message, unchanged, and what the message says besides may be said again without
 * effect, unless it is in a list: such messages are recognized and not decoded (`withFrame`, streams/sse.ts).
 */
export type StreamDecoder = {
  /** Whether a finish reason has been read: usage may follow, and the upstream's goodbye. */
  hasReason(): boolean;
  /** What the upstream has counted so far: it grows, and is billed also if the stream breaks off. */
  known: Partial<Usage>;
  /** @throws UpstreamError when the upstream reports a failure or breaks its protocol. */
  push(message: { event?: string; data: string }): GenerationEvent[];
  /** Call when the upstream closes. @throws UpstreamError unless the generation has finished. */
  end(): GenerationEvent[];
};

/** Encodes the events of one stream: canonical events in, messages of the caller's protocol out. */
export type EventEncoder = { push(event: GenerationEvent): SseMessage[] };

export type StreamEncoder = EventEncoder & {
  /** The last messages of a stream that fails after its first byte; the official SDKs throw on them. */
  fail(error: ApiError, requestId: string): SseMessage[];
};

/** Request limits per minute, for response headers; `resetAt` in ms since the epoch. */
export type RequestLimits = { limit: number; remaining: number; resetAt: number };

/**
 * The caller's half: reads requests and writes responses. Implemented by chat/, messages/ and
 * responses/. Code outside protocols/ never branches on the name.
 */
export type CallerProtocol = {
  readonly name: CallerProtocolName;
  /** Sent while a response is silent, so that no proxy or client times out. */
  readonly heartbeat: SseMessage;
  /** Whether a message ends a stream properly: SDKs stop reading there. */
  isTerminal(message: SseMessage): boolean;

  /** @throws ApiError 400 with the path of the offending field. */
  decodeRequest(body: unknown, headers?: CallerHeaders): GenerationRequest;
  /** Decodes the body of a token count, where its fields differ. @throws ApiError 400 */
  decodeCountRequest?(body: unknown, headers?: CallerHeaders): GenerationRequest;
  /** Members of a token count, in addition to the number. */
  readonly countFields?: Json;

  encodeResponse(
    generation: Generation,
    request: GenerationRequest,
    meta: ResponseMeta,
  ): Record<string, unknown>;
  streamEncoder(request: GenerationRequest, meta: ResponseMeta): StreamEncoder;
  /** What is sent as an upstream of the protocol sent it only if it is of the type that clients read. */
  readonly answer?: Shape;

  encodeError(error: ApiError, requestId: string): Record<string, unknown>;
  /**
   * The same as `fail` of a stream's encoder, for a stream that has lost its encoder. `sent`: the last text
   * of the stream that has an event, or an empty one.
   */
  encodeStreamError(
    error: ApiError,
    requestId: string,
    meta: ResponseMeta,
    sent: string,
  ): SseMessage[];

  /** The protocol's own headers for the request limits, in addition to the common ones. */
  limitHeaders(limits: RequestLimits): HeaderMap;
};

/**
 * The target's half: writes requests and reads responses. A protocol that no caller uses implements only
 * this half.
 */
export type UpstreamProtocol = {
  /**
   * Path of a call below the target's `baseUrl`, percent-encoded; it may hold the model, and a query at its end. Some protocols
   * have another one for a response in one piece.
   */
  path(target: WireTarget, isStreamed?: boolean): string;
  /** The header of a credential, unless the target states `authHeader`. */
  credentialHeader: string;
  /** Path of the provider's models, where their list states when they retire. */
  modelList?: string;
  /** Whether a request may name sequences that end the response; else the router ends it there. @default true */
  takesStops?: boolean;
  /**
   * Names of the parts of a request that the protocol, or the model of this profile, cannot carry, as an
   * error lists them; empty if it can carry all. Parts of the assistant's history do not count: they are
   * left out instead.
   */
  cannotSay(request: GenerationRequest, profile?: Profile): string[];
  /** Paths of what the target does not get of `received`, the body of `request`, or gets with another meaning; they may repeat. */
  losses(request: GenerationRequest, target: WireTarget, received: unknown): string[];
  /** How providers of the protocol count a prompt's tokens, if they offer it: they reject other members than these. */
  counter?: {
    path: string;
    members: readonly string[];
    /** Undefined if the body is not a count. */
    decodeResponse(body: unknown): number | undefined;
  };
  /** The target's static headers with those that the request adds. */
  headers?(request: GenerationRequest, target: WireTarget): HeaderMap;

  /** Who marks what the target caches of the request, and why. */
  markingOf?(request: GenerationRequest, target: WireTarget): Marking;

  /** @throws ApiError 400 when no part of the conversation has a form in this protocol. */
  encodeRequest(request: GenerationRequest, target: WireTarget): Record<string, unknown>;
  /**
   * What of a received body the target gets in another form; undefined for one of another protocol, or of a target
   * that gets what others do. All else is sent as it was received. `request`: what it was decoded to. @throws as `encodeRequest`
   */
  editsOf?(request: GenerationRequest, target: WireTarget, received: Json): Edit[] | undefined;
  /**
   * Decodes a response that is not streamed, into the events that a stream would give. `text`: as it was received.
   * @throws UpstreamError when the body is not a response of this protocol.
   */
  decodeResponse(
    body: unknown,
    request: GenerationRequest,
    text?: string,
    of?: Profile,
  ): GenerationEvent[];
  /** What the provider counted for a response that is not streamed, also for one that cannot be decoded. Never throws. */
  usageIn(body: Json): Usage | undefined;
  /** `of`: of the target that was sent the request. */
  streamDecoder(request: GenerationRequest, of?: Profile): StreamDecoder;
};

/** The secret in the header that the target names, else in that of its protocol; none for a call by the role. */
export const credentialOf = (
  { credentialHeader }: Pick<UpstreamProtocol, 'credentialHeader'>,
  { authHeader: name = credentialHeader }: Pick<WireTarget, 'authHeader'>,
  secret: string,
): HeaderMap => ({ [name]: name === 'authorization' ? `Bearer ${secret}` : secret });

/**
 * No message of a protocol has `error` for anything else, so gateways that send an error in the form of another protocol are
 * understood. @throws UpstreamError when a body or message of a 200 response reports a failure
 */
export const assertNoError = (wire: Record<string, unknown>) => {
  // MiniMax's status next to a response is 0.
  const isFailed = Boolean(Object(wire.base_resp).status_code);
  const isFlat = !wire.error && (wire.type === 'error' || wire.object === 'error' || isFailed);
  if (!isFlat && !wire.error) return;
  const sent = isFlat ? { error: wire } : wire;
  throw new UpstreamError('error-event', 'the upstream sent an error', { sent });
};
