import type { Model, Target } from '../catalog/catalog.ts';
import type { Generation, GenerationRequest, ResponseMeta } from '../protocols/generation.ts';
import { callerProtocols, upstreamProtocols } from '../protocols/protocols.ts';
import { UpstreamError, type UpstreamErrorKind } from '../protocols/rejections/upstream-error.ts';
import { collect } from '../protocols/streams/collect.ts';
import type { CALLS } from './input.ts';
import type { AdminParts } from './operation.ts';
import { compareRetirement } from './stated-retirement.ts';

export type CallName = (typeof CALLS)[number];

export type CallOutcome = {
  result: 'ok' | 'warning' | 'failed';
  ms: number;
  /** Member of the target that is most likely wrong, e.g. `baseUrl`. */
  member?: string;
  reason?: string;
};

/** Below the 29 s after which the REST API ends an operator's request. */
const TIMEOUT_MS = 20_000;
/** Enough for a word; models that think may end without one, which shows that they respond. */
const MAX_TOKENS = 64;
const LIMITS = { characters: 100_000, messages: 10_000, overhead: 1_000_000 };

const TOOL = {
  type: 'function',
  function: {
    name: 'report_status',
    description: 'Reports a status.',
    parameters: { type: 'object', properties: { status: { type: 'string' } } },
  },
};

const requestOf = (model: string, call: CallName): GenerationRequest =>
  callerProtocols.chat.decodeRequest({
    model,
    max_tokens: MAX_TOKENS,
    stream: call === 'streamed',
    messages: [{ role: 'user', content: 'Reply with the word ok.' }],
    ...(call === 'tool' && { tools: [TOOL] }),
  });

/** Member to look at first, by kind of failure. */
const MEMBERS: Partial<Record<UpstreamErrorKind, string>> = {
  connect: 'baseUrl',
  reset: 'baseUrl',
  redirect: 'baseUrl',
  malformed: 'baseUrl',
  truncated: 'protocol',
  'first-event-timeout': 'firstEventTimeoutMs',
  credential: 'secret',
  'credential-refused': 'secret',
  'no-quota': 'secret',
  'unknown-model': 'model',
};

const memberOf = (
  { kind, status, rejectedPaths, reason, difference }: UpstreamError,
  { auth }: Target,
): string | undefined => {
  if (kind === 'unknown-model' && reason === undefined) return 'baseUrl';
  if (rejectedPaths.includes('max_tokens')) return 'maxTokensField';
  if (difference) return 'profile';
  const member = MEMBERS[kind] ?? (status === 403 ? 'secret' : undefined);
  return member === 'secret' && auth !== undefined ? 'auth' : member;
};

const causeOf = ({ cause, message }: UpstreamError): string =>
  cause instanceof Error && cause.message !== '' ? cause.message : message;

/** What failed, in words that contain no text of the provider but its cleaned reason. */
const reasonOf = (error: UpstreamError): string => {
  const { kind, status, reason, message } = error;
  if (kind === 'credential') return causeOf(error);
  if (kind === 'error-event') return 'error-event: the response is an error';
  if (status !== undefined) return [`${kind} (${status})`, ...(reason ? [reason] : [])].join(': ');
  return `${kind}: ${message}`;
};

const META: ResponseMeta = {
  ...{ id: 'doctor', model: 'doctor', created: 0 },
  ...{ now: () => 0, estimateInput: () => 1 },
};

/** Encodes the response as for a caller, so that a response that the router cannot write is found too. */
const encode = (generation: Generation, request: GenerationRequest): void => {
  for (const protocol of Object.values(callerProtocols)) {
    protocol.encodeResponse(generation, request, META);
  }
};

/** Makes one call to one target, without breakers and failover. Never throws for a failure of the target. */
export const createTestTarget =
  ({ upstream, secrets, clock }: Pick<AdminParts, 'upstream' | 'secrets' | 'clock'>) =>
  async (model: Model, target: Target, call: CallName): Promise<CallOutcome> => {
    const startedAt = clock.now();
    const controller = new AbortController();
    const cancel = clock.after(TIMEOUT_MS, () =>
      controller.abort(new UpstreamError('deadline', `no response within ${TIMEOUT_MS} ms`)),
    );
    const msSince = () => clock.now() - startedAt;
    try {
      if (call === 'list') {
        const asking = { secrets, now: startedAt, signal: controller.signal };
        return { ...(await compareRetirement(model, target, asking)), ms: msSince() };
      }
      const request = requestOf(model.id, call);
      const batches = await upstream.open({
        request,
        target,
        protocol: upstreamProtocols[target.protocol],
        maxOutputTokens: MAX_TOKENS,
        limits: LIMITS,
        signal: controller.signal,
      });
      const generation = await collect(batches);
      encode(generation, request);
      const isEmpty = generation.blocks.length === 0 && generation.reason.unified === 'stop';
      const ms = msSince();
      return isEmpty ? { result: 'failed', ms, reason: 'an empty response' } : { result: 'ok', ms };
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const member = memberOf(error, target);
      const ms = msSince();
      return { result: 'failed', ms, ...(member && { member }), reason: reasonOf(error) };
    } finally {
      cancel();
    }
  };
