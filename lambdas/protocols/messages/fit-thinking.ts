import type { Fitted } from '../fit-request.ts';
import type { GenerationRequest, Reasoning } from '../generation.ts';
import { PATHS } from '../ledger/paths.ts';
import { budgetOfEffort, effortOfBudget, fitEffort, type Profile } from '../profile.ts';
import type { WireTarget } from '../protocol.ts';
import { isToolForced, MIN_BUDGET } from './thinking.ts';

/** Share of the token cap that thinking may use, so that a response has room after it. */
const MAX_SHARE = 0.8;
/** The vendor's effort where a request states none. */
const DEFAULT_EFFORT = 'high';

const withoutEffort = ({ effort: _, ...rest }: Reasoning): Reasoning => rest;

/** Few, because another budget loses the cache of the messages: a token cap that differs a little has the same. */
const STEPS = [MIN_BUDGET, 2_048, 4_096, 8_192, 16_000, 24_576, 32_000];

/** An effort as a budget, or the largest lower one for which the token cap has room; undefined where it has for none. */
const budgetFor = (effort: string, { maxTokens }: GenerationRequest, target: WireTarget) => {
  const cap = Math.min(maxTokens ?? target.maxOutputTokens, target.maxOutputTokens);
  const room = Math.min(budgetOfEffort(effort), cap * MAX_SHARE);
  return STEPS.findLast((budget) => budget <= room);
};

/** The lowest level, for a model that always thinks. */
const lowest = ({ effort }: Profile): Reasoning => {
  const level = effort === undefined ? 'low' : effort.find((name) => name !== 'none');
  return level === undefined ? {} : { effort: level };
};

type Chosen = { reasoning: Reasoning; isLost?: boolean };

const chooseAdaptive = ({ budgetTokens, effort, mode }: Reasoning): Chosen => {
  const level = effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens));
  return {
    reasoning: { mode: 'adaptive', ...(level !== undefined && { effort: level }) },
    isLost: mode === 'between_tools',
  };
};

const chooseEnabled = (
  wanted: Reasoning,
  request: GenerationRequest,
  target: WireTarget,
): Chosen => {
  const { effort } = wanted;
  const budgetTokens = budgetFor(effort ?? DEFAULT_EFFORT, request, target);
  if (budgetTokens === undefined) return { reasoning: withoutEffort(wanted), isLost: true };
  return { reasoning: { mode: 'enabled', budgetTokens, ...(effort !== undefined && { effort }) } };
};

const isOff = ({ mode, effort }: Reasoning): boolean =>
  mode === 'disabled' || (mode === undefined && effort === 'none');

/** Which form of `thinking` is sent, of those that the model accepts. */
const choose = (wanted: Reasoning, request: GenerationRequest, target: WireTarget): Chosen => {
  const { thinking: forms = [] } = target;
  const { mode } = wanted;
  if (isOff(wanted)) {
    if (forms.includes('disabled')) return { reasoning: wanted };
    if (forms.includes('between_tools')) {
      return { reasoning: { mode: 'between_tools' }, isLost: true };
    }
    // A model that cannot think needs no switch; one that always does thinks as little as it can.
    return forms.length === 0 ? { reasoning: {} } : { reasoning: lowest(target), isLost: true };
  }
  if (mode !== undefined && forms.includes(mode)) return { reasoning: wanted };
  // An effort alone leaves the form to the encoder, which writes the adaptive one.
  if (mode === undefined && forms.includes('adaptive')) return { reasoning: wanted };
  if (forms.includes('adaptive')) return chooseAdaptive(wanted);
  if (forms.includes('enabled')) return chooseEnabled(wanted, request, target);
  const { effort } = wanted;
  return { reasoning: effort === undefined ? {} : { effort }, isLost: mode !== undefined };
};

/** With thinking off, the highest levels are rejected. */
const MAX_WITHOUT_THINKING = ['low', 'medium', 'high'];

const fitLevel = ({ effort, mode }: Reasoning, levels: readonly string[] | undefined) => {
  if (effort === undefined || effort === 'none' || levels === undefined) return effort;
  const allowed =
    mode === 'disabled' ? levels.filter((level) => MAX_WITHOUT_THINKING.includes(level)) : levels;
  return fitEffort(effort === 'minimal' ? 'low' : effort, allowed);
};

/** Spells thinking and effort as the target's model accepts them. */
export const fitThinking = (request: GenerationRequest, target: WireTarget): Fitted => {
  const { reasoning: wanted } = request;
  if (wanted === undefined || (target.thinking === undefined && target.effort === undefined)) {
    return { request, dropped: [] };
  }
  const paths = PATHS[request.extras.protocol];
  // A forced tool excludes thinking; the effort alone is sent.
  const isEffortAlone = wanted.mode === undefined && isToolForced(request);
  const { reasoning, isLost = false } =
    target.thinking === undefined || isEffortAlone
      ? { reasoning: wanted }
      : choose(wanted, request, target);
  const level = fitLevel(reasoning, target.effort);
  const fitted = { ...withoutEffort(reasoning), ...(level !== undefined && { effort: level }) };
  // A budget says the same as the effort that it replaces.
  const isSaid = reasoning.budgetTokens !== undefined;
  const isLowered = reasoning.effort !== level && reasoning.effort !== 'minimal' && !isSaid;
  return {
    request: { ...request, reasoning: fitted },
    dropped: [...(isLost ? [paths.thinking] : []), ...(isLowered ? [paths.effort] : [])],
  };
};
