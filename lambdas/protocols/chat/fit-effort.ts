import type { Fitted } from '../fit-request.ts';
import type { GenerationRequest } from '../generation.ts';
import { effortOfBudget, fitEffort, type Profile } from '../profile.ts';
import { NAME } from './name.ts';

/** How the caller named what is fitted here. */
const fieldOf = ({ extras: { protocol }, reasoning }: GenerationRequest): string => {
  if (protocol === NAME) return 'reasoning_effort';
  if (protocol === 'responses') return 'reasoning';
  return reasoning?.effort === undefined ? 'thinking' : 'output_config';
};

/** The effort that the request asks for; a budget asks for the nearest one. */
const wantedEffort = (
  { reasoning }: GenerationRequest,
  levels: readonly string[] | undefined,
): string | undefined => {
  const { mode, effort, budgetTokens } = reasoning ?? {};
  // Upstreams have different values for "off", and reject the others' values.
  if (mode === 'disabled') return levels?.includes('none') ? 'none' : undefined;
  if (effort !== undefined || mode !== 'enabled' || budgetTokens === undefined) return effort;
  return effortOfBudget(budgetTokens);
};

const offersFunctions = ({ tools = [] }: GenerationRequest): boolean =>
  tools.some((tool) => !('native' in tool));

/** Spells the effort as the target's model accepts it: a level that it has, or none. */
export const fitReasoning = (request: GenerationRequest, profile: Profile): Fitted => {
  const wanted = wantedEffort(request, profile.effort);
  const isExcluded = profile.effortWithTools === false && offersFunctions(request);
  const effort = wanted === undefined || isExcluded ? undefined : fitEffort(wanted, profile.effort);
  // Without the field, a model without levels does not think.
  const isSaid = effort === wanted || (wanted === 'none' && profile.effort?.length === 0);
  const { reasoning: _, ...rest } = request;
  return {
    request: effort === undefined ? rest : { ...rest, reasoning: { effort } },
    dropped: isSaid ? [] : [fieldOf(request)],
  };
};
