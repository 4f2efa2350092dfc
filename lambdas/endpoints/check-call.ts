import { assertCapable, assertFits, EXACT_BAND, targetsFor } from '../catalog/capabilities.ts';
import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import {
  countInputTokens,
  countingOf,
  countPrompt,
  estimateInputTokens,
  leastInputTokens,
} from '../catalog/estimate-tokens.ts';
import { requireWithin } from '../catalog/policy.ts';
import { partsOf } from '../catalog/request-parts.ts';
import type { Tokenizers } from '../catalog/tokenizer.ts';
import { type Session, sessionIdOf, sessionOf } from '../protocols/cache/session.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { assertConsistent } from '../protocols/ledger/assert-consistent.ts';
import { latestOrigin } from '../protocols/thinking/origin.ts';
import type { Calibrations } from '../routing/calibrations.ts';
import { orderTargets } from '../routing/order-targets.ts';
import { oncePer } from '../support/once-per.ts';
import { targetsAllowed } from './dropped.ts';
import type { Call } from './endpoint.ts';
import { type Attribution, attributionOf } from './who.ts';

/** A valid call: its decoded request, its model and the targets that may serve it. */
export type CheckedCall = {
  call: Call;
  request: GenerationRequest;
  /** Its session among those of all keys; hashed when somebody asks. */
  session(): Session;
  /** For whom it is. */
  attribution: Attribution;
  model: Model;
  /** The one that the caller names: another model once it is retired. */
  asked: Model;
  /** The model's targets that can carry the whole request, in the order of its session. */
  targets: Target[];
  /** `x-router-strict: 1`: what would be dropped is a 400. */
  isStrict: boolean;
  /**
   * Estimates the input as the target counts it, by default the first one. The request is read once for each, when its
   * estimate is first needed.
   */
  estimateInput(target?: Target): number;
  /** What the target's framing counts; undefined if the prompt has media, which no framing counts. */
  countPrompt(target: Target): number[] | undefined;
  /** The instant of the unit's reservation, in ms: of an earlier attempt too, whose unit is used again. */
  reservedAt?: number;
};

const once = <Value>(compute: () => Value): (() => Value) => {
  let value: Value | undefined;
  return () => {
    value ??= compute();
    return value;
  };
};

/** Share of the context from which an estimate is worth a count with the vocabulary. */
const DOUBTFUL = 0.85;

export type CheckDeps = {
  catalog: Catalog;
  tokenizers: Tokenizers;
  calibrations: Calibrations;
};

/** The decoded request, with its session, and what may be added for caches. @throws ApiError 400 */
const decode = ({ protocol, body, headers, caller }: Call) => {
  const request = protocol.decodeRequest(body, headers);
  assertConsistent(request);
  const named = sessionOf(headers, body);
  const session = once(() => sessionIdOf({ keyId: caller.keyId, headers }, request, named));
  const added: Partial<GenerationRequest> | undefined =
    headers['x-router-cache'] === 'off'
      ? { isUnmarked: true }
      : named
        ? { cacheKey: session().id }
        : undefined;
  const attribution = attributionOf(headers, body, { projectId: caller.projectId, named });
  return { request: added ? { ...request, ...added } : request, session, attribution };
};

/** Runs every check that is free of quota. @throws ApiError 400, 404 */
export const checkCall = (
  { catalog, tokenizers, calibrations }: CheckDeps,
  call: Call,
): CheckedCall => {
  const { request, session, attribution } = decode(call);
  const { asked, model } = catalog.require(request.model, call.caller.plan, call.startedAt);
  call.note({ model: model.id, stream: request.stream });
  assertCapable(model, request);
  const isStrict = call.header('x-router-strict') === '1';
  const targetsInside = requireWithin(model, call.caller.plan.require);
  const able = targetsAllowed(
    { call, request, model, isStrict },
    targetsFor({ id: model.id, targets: targetsInside }, request),
  );
  const targets = orderTargets(able, {
    session: () => session().id,
    origin: () => latestOrigin(request),
  });
  const parts = once(() => partsOf(request));
  const countOnce = oncePer(new Map<Target, number[]>(), (target) =>
    countPrompt(parts(), countingOf(target)),
  );
  const estimateInput = (target = targets[0]) => {
    if (!target) return 0;
    const counting = { ...countingOf(target), calibrated: calibrations.framingOf(target) };
    return estimateInputTokens(parts(), counting, countOnce(target));
  };
  // A page of a document is 258 tokens at one vendor and 2,300 at another: the provider decides on those.
  const leastOn = (target: Target) => {
    const least = leastInputTokens(parts(), target.model);
    const name = target.counting?.tokenizer;
    if (name === undefined || estimateInput(target) < DOUBTFUL * model.context_length) return least;
    const counted = countInputTokens({ ...parts(), droppable: [] }, target, tokenizers(name));
    return Math.max(least, (counted - parts().mediaTokens) * (1 - EXACT_BAND));
  };
  const least = () => Math.min(...targets.map(leastOn));
  const count = { bodyBytes: call.source.bytes, parts, least, estimate: estimateInput };
  assertFits(model, request, count);
  return {
    ...{ call, request, session, attribution, model, asked, targets, isStrict, estimateInput },
    countPrompt: (target) => {
      const { images, mediaTokens } = parts();
      const hasMedia = images.length > 0 || mediaTokens > 0;
      return hasMedia ? undefined : countOnce(target);
    },
  };
};
