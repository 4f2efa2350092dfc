import { isDeepStrictEqual } from 'node:util';
import type { Target } from '../catalog/catalog.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { type ModelDifference, withDifference } from '../protocols/model-difference.ts';
import type { Profile } from '../protocols/profile.ts';
import { wireTargetOf } from '../protocols/protocol.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import type { Log } from '../support/log.ts';
import type { Upstream, UpstreamCall } from '../upstreams/upstream.ts';
import type { Lessons } from './lessons.ts';

const withProfile = (call: UpstreamCall, profile: Profile): UpstreamCall => ({
  ...call,
  // A member that was learned replaces the target's own one, too.
  target: { ...call.target, ...profile, profile },
});

const withoutThinking = (request: GenerationRequest): GenerationRequest => ({
  ...request,
  turns: request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.filter(({ type }) => type !== 'thinking'),
  })),
});

/** The call in the form that the rejection leaves. */
const heal = (call: UpstreamCall, difference: ModelDifference): UpstreamCall =>
  difference.member === 'history'
    ? { ...call, request: withoutThinking(call.request) }
    : withProfile(call, withDifference(call.target.profile ?? {}, difference));

const sentBy = ({ request, target, protocol, maxOutputTokens }: UpstreamCall) => {
  const wire = wireTargetOf(target, maxOutputTokens);
  return [protocol.encodeRequest(request, wire), protocol.headers?.(request, wire)];
};

const differenceOf = (error: unknown): ModelDifference | undefined =>
  error instanceof UpstreamError ? error.difference : undefined;

/** A call in another form, why, and its target in the catalog. */
type Healed = { call: UpstreamCall; difference: ModelDifference; original: Target };

/**
 * Calls a target once more in another form when its rejection names a known difference of its model: before
 * any content, for no unit and without an effect on its breaker. What was learned holds for every later
 * request of every environment. A rejection that no other form changes is the caller's, and is thrown.
 */
export const createHealingUpstream = (parts: {
  upstream: Upstream;
  lessons: Lessons;
  log: Log;
}): Upstream => {
  const { upstream, lessons, log } = parts;

  const learn = async (healed: Healed) => {
    if (healed.difference.member === 'history') return;
    const { target } = healed.call;
    log.warn('target_learned', {
      target: `${target.upstream}/${target.model}`,
      upstream: target.upstream,
      field: healed.difference.member,
    });
    await lessons.learn(healed.original, target.profile ?? {});
  };

  const openHealed = async (healed: Healed) => {
    try {
      const batches = await upstream.open(healed.call);
      await learn(healed);
      return batches;
    } catch (error) {
      // Another known difference: this form was right as far as it goes, and the next request adapts the rest.
      const next = differenceOf(error);
      if (next && next.member !== healed.difference.member) await learn(healed);
      throw error;
    }
  };

  const open: Upstream['open'] = async (original) => {
    const profile = await lessons.profileOf(original.target);
    const call = withProfile(original, profile);
    try {
      return await upstream.open(call);
    } catch (error) {
      const difference = differenceOf(error);
      if (!difference) throw error;
      const healed = heal(call, difference);
      if (isDeepStrictEqual(sentBy(healed), sentBy(call))) throw error;
      return openHealed({ call: healed, difference, original: original.target });
    }
  };

  return { open, credentialVersion: upstream.credentialVersion };
};
