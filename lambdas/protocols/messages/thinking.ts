import { omitUndefined } from '../../support/omit-undefined.ts';
import type { GenerationRequest, Reasoning, Turn } from '../generation.ts';
import { asArray, asRecord, asString, type Json } from '../json.ts';
import { NAME } from './name.ts';
import type { CountRequest } from './wire.ts';

const REASONING_MODES = ['enabled', 'adaptive', 'disabled'] as const;

export const modeOf = (thinking: CountRequest['thinking']): Reasoning['mode'] =>
  REASONING_MODES.find((mode) => mode === thinking?.type);

const startsWithThinking = ({ blocks }: Turn): boolean =>
  blocks[0]?.type === 'thinking' && blocks[0].signature !== undefined;

const callsTools = ({ role, blocks }: Turn): boolean =>
  role === 'assistant' && blocks.some(({ type }) => type === 'tool-call');

const startsAnew = ({ role, blocks }: Turn): boolean =>
  role === 'user' && !blocks.some(({ type }) => type === 'tool-result');

/**
 * Whether the conversation stands in a tool loop whose first call has lost its thinking: another upstream
 * wrote it, or the caller left it out. The vendor refuses to go on thinking in such a loop.
 */
const lostThinking = ({ turns }: GenerationRequest): boolean => {
  const loop = turns.slice(turns.findLastIndex(startsAnew) + 1);
  const first = loop.find(callsTools);
  return first !== undefined && !startsWithThinking(first);
};

const isForced = ({ toolChoice }: GenerationRequest): boolean =>
  toolChoice?.type === 'required' || toolChoice?.type === 'tool';

/**
 * Who asks the other family for effort asks for thinking; here it has a switch of its own. Not beside a
 * forced tool, which the vendor refuses. `adaptive` is the one mode that accepts a history without thinking.
 */
const isTurnedOn = (request: GenerationRequest): boolean => {
  const { effort, mode } = request.reasoning ?? {};
  return mode === undefined && effort !== undefined && effort !== 'none' && !isForced(request);
};

const isCaller = ({ extras }: GenerationRequest): boolean => extras.protocol === NAME;

/** The vendor's least budget of thinking, in tokens. */
const LEAST_BUDGET = 1_024;

const encodeEnabled = (rode: unknown, budget: number | undefined, maxTokens: number): Json => {
  // A cap that had to be lowered must stay above the budget.
  const most = Math.max(LEAST_BUDGET, maxTokens - 1);
  const tokens = budget === undefined ? undefined : Math.min(budget, most);
  return omitUndefined({ ...asRecord(rode), type: 'enabled', budget_tokens: tokens });
};

/** `thinking` for the wire. `lowered` is the cap that took the place of a higher one, if any did. */
export const encodeThinking = (
  request: GenerationRequest,
  { rode, lowered }: { rode: unknown; lowered: number | undefined },
): Json | undefined => {
  const { mode, effort, budgetTokens } = request.reasoning ?? {};
  if (mode === 'enabled') {
    if (lostThinking(request)) return { type: 'disabled' };
    return encodeEnabled(rode, budgetTokens, lowered ?? Number.POSITIVE_INFINITY);
  }
  if (mode) return omitUndefined({ ...asRecord(rode), type: mode, budget_tokens: budgetTokens });
  if (isCaller(request)) return asRecord(rode);
  if (effort === 'none') return { type: 'disabled' };
  // Newer models keep their thinking to themselves unless asked for it.
  return isTurnedOn(request) ? { type: 'adaptive', display: 'summarized' } : undefined;
};

const LEAST_TOP_P = 0.95;
/** The default of both fields, and the most that this wire allows. Newer models refuse what says no more. */
const saysMore = (value: number | undefined): boolean => value !== undefined && value < 1;

/** Sampling as this wire takes it: one field of the two, and next to none beside thinking. */
export const encodeSampling = (request: GenerationRequest): Json => {
  const { temperature, topP, topK } = request;
  if (isCaller(request)) return omitUndefined({ temperature, top_p: topP, top_k: topK });
  if (isTurnedOn(request)) {
    return topP !== undefined && topP >= LEAST_TOP_P ? { top_p: topP } : {};
  }
  if (saysMore(temperature)) return omitUndefined({ temperature, top_k: topK });
  return omitUndefined({ top_p: saysMore(topP) ? topP : undefined, top_k: topK });
};

/** Clearing old thinking is refused where thinking is off, even if that was our doing. */
export const withoutThinkingEdits = (management: unknown, thinking: Json | undefined): unknown => {
  const fields = asRecord(management);
  if (!fields || thinking?.type !== 'disabled') return management;
  const edits = asArray(fields.edits);
  const kept = edits.filter(
    (edit) => !asString(asRecord(edit)?.type)?.startsWith('clear_thinking'),
  );
  return edits.length > 0 && kept.length === 0 ? undefined : { ...fields, edits: kept };
};
