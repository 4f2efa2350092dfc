/** What chat and protocols like it state of effort, length and users. */
import type { Fitted } from './fit-request.ts';
import type { GenerationRequest } from './generation.ts';
import { PATHS } from './ledger/paths.ts';
import { effortOfBudget, fitEffort, type Profile } from './profile.ts';
import type { WireTarget } from './protocol.ts';

/** How the caller named what is fitted here. */
const pathOf = ({ extras: { protocol }, reasoning }: GenerationRequest): string =>
  PATHS[protocol][reasoning?.effort === undefined ? 'thinking' : 'effort'];

/** The effort that the request asks for; a budget asks for the nearest one. */
const wantedEffort = ({ reasoning }: GenerationRequest, levels: readonly string[] | undefined) => {
  const { mode, effort, budgetTokens } = reasoning ?? {};
  // Upstreams have different values for "off", and reject the others' values.
  if (mode === 'disabled') return levels?.includes('none') ? 'none' : undefined;
  if (effort !== undefined || mode !== 'enabled' || budgetTokens === undefined) return effort;
  return effortOfBudget(budgetTokens);
};

const offersFunctions = ({ tools = [] }: GenerationRequest): boolean =>
  tools.some((tool) => !('native' in tool));

/** Next to functions, models that think by default need the level `none`. */
const withoutEffort = ({ effort: levels = ['none'] }: Profile): string | undefined =>
  levels.includes('none') ? 'none' : undefined;

/** Spells the effort as the target's model accepts it: a level that it has, or none. */
export const fitReasoning = (request: GenerationRequest, profile: Profile): Fitted => {
  const isExcluded = profile.effortWithTools === false && offersFunctions(request);
  if (request.reasoning === undefined && !isExcluded) return { request, dropped: [] };
  const wanted = wantedEffort(request, profile.effort);
  const effort = isExcluded ? withoutEffort(profile) : wanted && fitEffort(wanted, profile.effort);
  // Without the field, a model without levels does not think.
  const isOff = wanted === 'none' && profile.effort?.length === 0;
  // An effort means nothing next to thinking that is off.
  const isOverruled =
    request.reasoning?.mode === 'disabled' && request.reasoning.effort !== undefined;
  const isSaid = (wanted === undefined || effort === wanted || isOff) && !isOverruled;
  const { reasoning: _, ...rest } = request;
  return {
    request: effort === undefined ? rest : { ...rest, reasoning: { effort } },
    dropped: isSaid ? [] : [pathOf(request)],
  };
};

/** The vendor's limit on end-user ids. Longer ones are agents' telemetry for another vendor. */
const MAX_USER_LENGTH = 64;

export const encodeUser = ({ user }: GenerationRequest): string | undefined =>
  user !== undefined && user.length <= MAX_USER_LENGTH ? user : undefined;

/** At least 1, the protocol's minimum, and at most the model's maximum. */
export const encodeMaxTokens = (
  { maxTokens }: GenerationRequest,
  { maxOutputTokens }: WireTarget,
) => (maxTokens === undefined ? undefined : Math.max(1, Math.min(maxTokens, maxOutputTokens)));
