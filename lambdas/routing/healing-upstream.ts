import { isDeepStrictEqual } from 'node:util';
import { isOfModel, narrowed, withDifferences } from '#late/failures';
import { nameOf, type Target } from '../catalog/catalog.ts';
import { asRecord } from '../protocols/bytes/json.ts';
import { hasMarks } from '../protocols/cache/members.ts';
import { thinksAt } from '../protocols/fit-request.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { levelsAmong } from '../protocols/profile.ts';
import { wireTargetOf } from '../protocols/protocol.ts';
import type { ModelDifference } from '../protocols/rejections/model-difference.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { NO_ORIGIN, sentRequest } from '../protocols/thinking/origin.ts';
import { type Clock, MINUTE_MS } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { Upstream, UpstreamCall } from '../upstreams/upstream.ts';
import { type Lessons, type Trial, withProfile } from './lessons.ts';

/** The call in the form that the rejections leave. */
const heal = (call: UpstreamCall, differences: ModelDifference[]): UpstreamCall => ({
  ...call,
  request: differences.some(({ member }) => member === 'history')
    ? { ...call.request, thinkingFrom: NO_ORIGIN }
    : call.request,
  maxOutputTokens: Math.min(
    call.maxOutputTokens,
    ...differences.flatMap((one) => (one.member === 'cap' ? one.is : [])),
  ),
  target: withProfile(call.target, withDifferences(call.target.profile ?? {}, differences)),
});

/** What two forms of a call differ in: the edits of a received body or the written one, and the headers. */
const sentBy = ({ request, target, protocol, maxOutputTokens, source }: UpstreamCall) => {
  const wire = wireTargetOf(target, maxOutputTokens);
  const own = sentRequest(request);
  const received = asRecord(source?.value);
  const edits = received && protocol.editsOf?.(own, wire, received);
  return [edits ?? protocol.encodeRequest(own, wire), protocol.headers?.(own, wire)];
};

/** A request in the form that the rejections so far leave. */
type Form = {
  /** Its target in the catalog. */
  original: Target;
  first: UpstreamCall;
  call: UpstreamCall;
  named: ModelDifference[];
  rejected: { call: UpstreamCall; sent: unknown }[];
  /** How often a form was sent again: two versions of the model are behind one address, and each rejects the other's. */
  repeats: number;
};

/** Whether no vendor has the effort: it may itself be the words that a rejection quotes. */
const isEffortInvented = ({ reasoning }: GenerationRequest): boolean =>
  reasoning?.effort !== undefined && levelsAmong([reasoning.effort]).length === 0;

/** Marks of the caller stay as they are: its provider's rule is the caller's to know. */
const isOfCallersMarks = ({ member }: ModelDifference, request: GenerationRequest): boolean =>
  member === 'marks' && hasMarks(request);

/** Those of the caller that were sent. */
const betasOf = ({ request: { betas = [] }, target: { profile } }: UpstreamCall): string[] =>
  betas.filter((beta) => profile?.betasWithout?.includes(beta) !== true);

/**
 * The form that a rejection leaves; undefined if it names no difference. If that form was rejected, too, it is the one
 * before the last, again.
 */
const nextForm = (form: Form, error: unknown): Form | undefined => {
  const difference = error instanceof UpstreamError ? error.difference : undefined;
  const { request } = form.first;
  if (!difference || isEffortInvented(request)) return undefined;
  if (isOfCallersMarks(difference, request)) return undefined;
  const sent = { isThinking: thinksAt(request), betas: betasOf(form.call) };
  const named = [...form.named, narrowed(difference, sent)];
  const call = heal(form.first, named);
  const rejected = [...form.rejected, { call: form.call, sent: sentBy(form.call) }];
  const next = sentBy(call);
  if (!rejected.some(({ sent }) => isDeepStrictEqual(sent, next))) {
    return { ...form, call, named, rejected };
  }
  const before = rejected.at(-2);
  return before && { ...form, call: before.call, rejected, repeats: form.repeats + 1 };
};

/** Of one request. Bedrock names four of an agent's first one. */
const MAX_DIFFERENCES = 4;
/** Of one request, where two versions are known to be behind the address: of 200 requests two fail, if each has half. */
const MAX_REPEATS = 4;
/** A provider changes all of its workers within minutes. */
const SPLIT_MS = 10 * MINUTE_MS;

/** Whether a provider's refusal, which another form of the request may not meet. */
const isRefusal = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.status === 400 || error.status === 422);

/**
 * Calls a target again in another form when its rejection names a known difference of its model: before any
 * content, for no unit and without an effect on its breaker. What was learned holds for every later request of
 * every environment. A rejection that leaves no other form is the caller's, and is thrown.
 */
export const createHealingUpstream = (parts: {
  upstream: Upstream;
  lessons: Lessons;
  clock: Clock;
  log: Log;
}): Upstream => {
  const { upstream, lessons, clock, log } = parts;
  /** Until when two versions of a target's model are behind its address, as far as is known. */
  const splits = new WeakMap<Target, number>();
  const isSplit = (target: Target): boolean => (splits.get(target) ?? 0) > clock.now();

  /** Learns what the rejections named, which adapts later requests from their start. */
  const learn = async ({ original, first, named, repeats }: Form) => {
    if (repeats > 0) splits.set(original, clock.now() + SPLIT_MS);
    const differences = named.filter(isOfModel);
    // Of two versions none is right: each request would teach the opposite.
    if (differences.length === 0 || isSplit(original)) return;
    for (const { member } of differences) {
      log.warn('target_learned', {
        target: nameOf(original),
        upstream: original.upstream,
        field: member,
      });
    }
    const profile = withDifferences(first.target.profile ?? {}, differences);
    await lessons.learn(original, profile, first.projectId);
  };

  /** @throws the error of `form` if no other is left to try */
  const formAfter = async (form: Form, error: unknown): Promise<Form> => {
    const next = nextForm(form, error);
    if (!next || next.repeats > (isSplit(form.original) ? MAX_REPEATS : 1)) throw error;
    if (next.named.length <= MAX_DIFFERENCES) return next;
    // This form was right as far as it goes, and the next request adapts the rest.
    await learn(form);
    throw error;
  };

  const send = (call: UpstreamCall) => {
    call.onForm?.(call.target);
    return upstream.open(call);
  };

  /** Sends one learned member again; undefined if the request has none of them, or the provider still rejects it. */
  const tryOne = async (original: Target, first: UpstreamCall, trials: readonly Trial[]) => {
    const sent = sentBy(first);
    const trial = trials.find(
      ({ form }) => !isDeepStrictEqual(sentBy({ ...first, target: form }), sent),
    );
    if (!trial) return undefined;
    try {
      const batches = await send({ ...first, target: trial.form });
      await lessons.forget(original, trial.member);
      return batches;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      lessons.keep(original, trial.member);
      return undefined;
    }
  };

  const open: Upstream['open'] = async (call) => {
    const original = call.target;
    const first = { ...call, target: await lessons.adapt(original) };
    const trials = lessons.trials(original);
    const tried = trials.length > 0 ? await tryOne(original, first, trials) : undefined;
    if (tried) return tried;
    let form: Form = { original, first, call: first, named: [], rejected: [], repeats: 0 };
    for (;;) {
      try {
        const batches = await send(form.call);
        if (form.rejected.length > 0) await learn(form);
        return batches;
      } catch (error) {
        form = await formAfter(form, error);
      }
    }
  };

  return { ...upstream, open };
};
