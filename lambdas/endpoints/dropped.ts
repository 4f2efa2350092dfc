import type { Model, Target } from '../catalog/catalog.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { type HeaderMap, wireTargetOf } from '../protocols/protocol.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { originOf } from '../protocols/thinking/origin.ts';
import { type ApiError, invalidRequest } from '../support/errors.ts';
import type { Call } from './endpoint.ts';
import type { Attribution } from './who.ts';

type Sent = { call: Pick<Call, 'body' | 'source'>; request: GenerationRequest; model: Model };

/** The paths of what a target does not get, or gets with another meaning. */
const droppedOn = ({ call, request, model }: Sent, target: Target): string[] => {
  const { losses } = upstreamProtocols[target.protocol];
  const wireTarget = wireTargetOf(target, model.max_output_tokens);
  const sent = { ...request, thinkingFrom: originOf(target) };
  return [...new Set([...(call.source.removed ?? []), ...losses(sent, wireTarget, call.body)])];
};

/** Keeps the header, and an error's text, short. */
const MAX_PATHS = 20;

const listOf = (paths: string[]): string =>
  [
    ...paths.slice(0, MAX_PATHS),
    ...(paths.length > MAX_PATHS ? [`+${paths.length - MAX_PATHS}`] : []),
  ].join(', ');

/** Lists what `target` did not get, and headers that are in no record, so that no caller has to guess. */
export const droppedHeader = (
  sent: Sent & { attribution: Attribution },
  target: Target | undefined,
): HeaderMap => {
  const unsent = target ? droppedOn(sent, target) : [];
  const { dropped } = sent.attribution;
  const paths = dropped.length === 0 ? unsent : [...unsent, ...dropped];
  return paths.length === 0 ? {} : { 'x-router-dropped': listOf(paths) };
};

/** The 400 of a strict request that a target does not get whole; undefined if it does, or if drops are allowed. */
export const strictError = (
  sent: Sent & { isStrict: boolean },
  target: Target,
): ApiError | undefined => {
  const dropped = sent.isStrict ? droppedOn(sent, target) : [];
  const [param] = dropped;
  if (param === undefined) return undefined;
  const problem = `no provider of the model '${sent.model.id}' accepts ${listOf(dropped)}.`;
  return invalidRequest(`x-router-strict: ${problem}`, { param });
};

/**
 * The targets that get the whole request, if it is strict.
 * @throws ApiError 400 that lists what the best of the others would not get
 */
export const targetsAllowed = (sent: Sent & { isStrict: boolean }, targets: Target[]): Target[] => {
  if (!sent.isStrict) return targets;
  const candidates = targets.map((target) => ({ target, dropped: droppedOn(sent, target) }));
  const exact = candidates.filter(({ dropped }) => dropped.length === 0);
  const [least] = candidates.toSorted((one, other) => one.dropped.length - other.dropped.length);
  const error = exact.length === 0 && least && strictError(sent, least.target);
  if (error) throw error;
  return exact.map(({ target }) => target);
};
