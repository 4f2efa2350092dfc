import { assertCapable, assertFits, targetsFor } from '../catalog/capabilities.ts';
import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import { requireWithin } from '../catalog/policy.ts';
import { type Session, sessionIdOf, sessionOf } from '../protocols/cache/session.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { assertConsistent } from '../protocols/ledger/assert-consistent.ts';
import { latestOrigin } from '../protocols/thinking/origin.ts';
import type { Calibrations } from '../routing/calibrations.ts';
import { orderTargets } from '../routing/order-targets.ts';
import type { Prefer, Preferred } from '../routing/preference.ts';
import type { Choice } from '../stores/record-store.ts';
import { targetsAllowed } from './dropped.ts';
import type { Call } from './endpoint.ts';
import { createPrompt, estimateOn, leastOn, type Prompt, partsIn } from './prompt.ts';
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
  /** Why the first of them is the first. */
  choice: Choice;
  preferred: Preferred | undefined;
  /** `x-router-strict: 1`: what would be dropped is a 400. */
  isStrict: boolean;
  prompt: Prompt;
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

export type CheckDeps = {
  catalog: Catalog;
  calibrations: Calibrations;
  /** @default models without a preference */
  prefer?: Prefer | undefined;
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

const isOnlyByPolicy = (model: Model, inside: Target[], targets: Target[]): boolean =>
  targets.length === 1 && inside.length === 1 && model.targets.length > 1;

/** Runs every check that is free of quota. @throws ApiError 400, 404 */
export const checkCall = (
  { catalog, calibrations, prefer }: CheckDeps,
  call: Call,
): CheckedCall => {
  const { request, session, attribution } = decode(call);
  const { asked, model } = catalog.require(request.model, call.caller.plan, call.startedAt);
  call.note({ model: model.id, stream: request.stream });
  assertCapable(model, request);
  const isStrict = call.header('x-router-strict') === '1';
  const targetsInside = requireWithin(model, call.caller.plan.require, asked);
  const able = targetsAllowed(
    { call, request, model, isStrict },
    targetsFor({ id: model.id, targets: targetsInside }, request),
  );
  const preferred = model.prefer && prefer?.(model, session().id);
  const { targets, choice } = orderTargets(able, {
    session: () => session().id,
    origin: () => latestOrigin(request),
    preferred,
  });
  const prompt = createPrompt(request, targets, calibrations);
  assertFits(model, request, {
    bodyBytes: call.source.bytes,
    parts: () => partsIn(prompt),
    least: () => leastOn(prompt),
    estimate: () => estimateOn(prompt),
  });
  return {
    ...{ call, request, session, attribution, model, asked, targets, isStrict, prompt },
    ...{ preferred, choice: isOnlyByPolicy(model, targetsInside, targets) ? 'require' : choice },
  };
};

/** Tokens that a response may have at most, over all its choices. */
export const mostTokens = ({ request, model }: CheckedCall): number =>
  Math.min(request.maxTokens ?? model.max_output_tokens, model.max_output_tokens) *
  (request.choices ?? 1);
