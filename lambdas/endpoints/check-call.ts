import {
  assertCapable,
  assertFits,
  BAND,
  EXACT_BAND,
  targetsFor,
} from '../catalog/capabilities.ts';
import type { Catalog, Model, Target } from '../catalog/catalog.ts';
import {
  countInputTokens,
  countingOf,
  countPrompt,
  estimateInputTokens,
} from '../catalog/estimate-tokens.ts';
import { partsOf } from '../catalog/request-parts.ts';
import type { Tokenizers } from '../catalog/tokenizer.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { assertConsistent } from '../protocols/ledger/assert-consistent.ts';
import { type HeaderMap, wireTargetOf } from '../protocols/protocol.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { invalidRequest } from '../support/errors.ts';
import { oncePer } from '../support/once-per.ts';
import type { Call } from './endpoint.ts';

/** A valid call: its decoded request, its model and the targets that may serve it. */
export type CheckedCall = {
  call: Call;
  request: GenerationRequest;
  model: Model;
  /** The model's targets that can carry the whole request, in catalog order. */
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

export type CheckDeps = {
  catalog: Catalog;
  tokenizers: Tokenizers;
};

/** Runs every check that is free of quota. @throws ApiError 400, 404 */
export const checkCall = ({ catalog, tokenizers }: CheckDeps, call: Call): CheckedCall => {
  const decoded = call.protocol.decodeRequest(call.body, call.headers);
  const dropped = [...(decoded.dropped ?? []), ...(call.source.removed ?? [])];
  const request = dropped.length > 0 ? { ...decoded, dropped } : decoded;
  assertConsistent(request);
  const model = catalog.require(request.model, call.caller.plan);
  call.note({ model: model.id, stream: request.stream });
  assertCapable(model, request);
  const isStrict = call.header('x-router-strict') === '1';
  const capable = targetsFor(model, request);
  const targets = isStrict ? strictTargets({ request, model }, capable) : capable;
  const parts = once(() => partsOf(request));
  const countOnce = oncePer(new Map<Target, number[]>(), (target) =>
    countPrompt(parts(), countingOf(target)),
  );
  const estimateInput = (target = targets[0]) =>
    target ? estimateInputTokens(parts(), countingOf(target), countOnce(target)) : 0;
  // A page of a document is 258 tokens at one vendor and 2,300 at another: the provider decides on those.
  const leastOf = (tokens: number, band: number) => (tokens - parts().mediaTokens) * (1 - band);
  const countOn = (target: Target) => {
    const tokens = estimateInput(target);
    const name = target.counting?.tokenizer;
    const isDoubtful = tokens * (1 + BAND) > model.context_length;
    if (name === undefined || !isDoubtful) return { tokens, least: leastOf(tokens, BAND) };
    const counted = countInputTokens(parts(), target, tokenizers(name));
    return { tokens: counted, least: leastOf(counted, EXACT_BAND) };
  };
  const lowest = () =>
    targets.map(countOn).reduce((one, other) => (other.least < one.least ? other : one));
  assertFits(model, request, { bodyBytes: call.source.utf8.byteLength, parts, lowest });
  return {
    ...{ call, request, model, targets, isStrict, estimateInput },
    countPrompt: (target) => {
      const { images, mediaTokens } = parts();
      const hasMedia = images.length > 0 || mediaTokens > 0;
      return hasMedia ? undefined : countOnce(target);
    },
  };
};

type Sent = { request: GenerationRequest; model: Model };

/** The caller's fields and tools that a target does not get, or gets with another meaning. */
const droppedOn = ({ request, model }: Sent, target: Target): string[] => {
  const { losses } = upstreamProtocols[target.protocol];
  const wireTarget = wireTargetOf(target, model.max_output_tokens);
  return [...new Set([...(request.dropped ?? []), ...losses(request, wireTarget)])];
};

/** A tool's type is any text of the caller's; a header holds names only. */
const NAME = /^[\w.-]{1,64}$/;
const MAX_NAMES = 20;

const namesIn = (dropped: string[]): string =>
  dropped
    .filter((name) => NAME.test(name))
    .slice(0, MAX_NAMES)
    .join(', ');

/** Lists what `target` did not get, so that no caller has to guess. */
export const droppedHeader = (sent: Sent, target: Target | undefined): HeaderMap => {
  const names = target ? namesIn(droppedOn(sent, target)) : '';
  return names === '' ? {} : { 'x-router-dropped': names };
};

const strictError = ({ model }: Sent, dropped: string[]) => {
  const [param] = dropped;
  return invalidRequest(
    `x-router-strict: no provider of the model '${model.id}' accepts ${namesIn(dropped)}.`,
    param === undefined ? {} : { param },
  );
};

/**
 * Keeps the targets that get the whole request.
 * @throws ApiError 400 that lists what the best of the others would not get
 */
const strictTargets = (sent: Sent, targets: Target[]): Target[] => {
  const candidates = targets.map((target) => ({ target, dropped: droppedOn(sent, target) }));
  const exact = candidates.filter(({ dropped }) => dropped.length === 0);
  if (exact.length > 0) return exact.map(({ target }) => target);
  const [least] = candidates.toSorted((one, other) => one.dropped.length - other.dropped.length);
  throw strictError(sent, least?.dropped ?? []);
};

/** @throws UpstreamError `lossy` if a strict request loses a field on the target, with what was learned about it */
export const assertWhole = (checked: CheckedCall, target: Target): void => {
  const dropped = checked.isStrict ? droppedOn(checked, target) : [];
  if (dropped.length === 0) return;
  const cause = strictError(checked, dropped);
  throw new UpstreamError('lossy', 'a strict request would lose a field', { cause });
};
