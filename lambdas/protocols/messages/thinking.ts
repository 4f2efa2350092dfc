import { omitUndefined } from '../../support/objects.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { GenerationRequest, Reasoning, Turn } from '../generation.ts';
import { THINKING_FORMS } from '../profile.ts';
import type { WireTarget } from '../protocol.ts';
import { requestsBeta } from './headers.ts';
import type { CountRequest } from './wire.ts';

export const modeOf = (thinking: CountRequest['thinking']): Reasoning['mode'] =>
  THINKING_FORMS.find((mode) => mode === thinking?.type);

const isFromSameProtocol = ({ extras }: GenerationRequest): boolean =>
  extras.protocol === 'messages';

// --- tool loops ---

const startsWithThinking = ({ blocks }: Turn): boolean =>
  blocks[0]?.type === 'thinking' && blocks[0].signature !== undefined;

const callsTools = ({ role, blocks }: Turn): boolean =>
  role === 'assistant' && blocks.some(({ type }) => type === 'tool-call');

const startsLoop = ({ role, blocks }: Turn): boolean =>
  role === 'user' && !blocks.some(({ type }) => type === 'tool-result');

/**
 * Whether the conversation is in a tool loop whose first call has lost its thinking: another upstream
 * wrote it, or the caller left it out. The vendor rejects further thinking in such a loop.
 */
const hasLostThinking = (turns: Turn[]): boolean => {
  const loop = turns.slice(turns.findLastIndex(startsLoop) + 1);
  const first = loop.find(callsTools);
  return first !== undefined && !startsWithThinking(first);
};

/**
 * The same of any loop. A caller of another protocol who did not send the thinking of one back will not send that of the next:
 * thinking stays off, because each change of it loses the cache of the messages.
 */
const everLostThinking = (turns: Turn[]): boolean => {
  let isInLoop = false;
  return turns.some((turn) => {
    if (startsLoop(turn)) isInLoop = false;
    if (!callsTools(turn) || isInLoop) return false;
    isInLoop = true;
    return !startsWithThinking(turn);
  });
};

// --- thinking ---

export const isToolForced = ({ toolChoice }: GenerationRequest): boolean =>
  toolChoice?.type === 'required' || toolChoice?.type === 'tool';

/**
 * Whether an effort alone, as in the chat protocol, turns thinking on. Not with a forced tool: the
 * vendor rejects the combination. `adaptive` is the only mode that accepts a history without thinking.
 */
const isTurnedOn = (request: GenerationRequest): boolean => {
  const { effort, mode } = request.reasoning ?? {};
  return mode === undefined && effort !== undefined && effort !== 'none' && !isToolForced(request);
};

/** The vendor's minimum thinking budget, in tokens. */
export const MIN_BUDGET = 1_024;

const encodeEnabled = (passthrough: Json | undefined, budget: number | undefined, cap: number) => {
  // The budget must stay below a lowered token cap.
  const limit = Math.max(MIN_BUDGET, cap - 1);
  const tokens = budget === undefined ? undefined : Math.min(budget, limit);
  return omitUndefined({ ...passthrough, type: 'enabled', budget_tokens: tokens });
};

/** `cap`: the token cap that replaced a higher one of the caller; infinite if none did. */
const encodeMode = (
  request: GenerationRequest,
  passthrough: Json | undefined,
  cap: number,
): Json | undefined => {
  const { mode, effort, budgetTokens } = request.reasoning ?? {};
  if (mode === 'enabled') {
    const isLost = isFromSameProtocol(request) ? hasLostThinking : everLostThinking;
    if (isLost(request.turns)) return { type: 'disabled' };
    return encodeEnabled(passthrough, budgetTokens, cap);
  }
  if (mode) return omitUndefined({ ...passthrough, type: mode, budget_tokens: budgetTokens });
  // The members of a form that was left out have no meaning without it.
  if (isFromSameProtocol(request)) return passthrough?.type === undefined ? undefined : passthrough;
  if (effort === 'none') return { type: 'disabled' };
  // Newer models omit their thinking from the response by default.
  return isTurnedOn(request) ? { type: 'adaptive', display: 'summarized' } : undefined;
};

// --- betas ---

/** The values of `display` that need no beta. */
const DISPLAYS = ['summarized', 'omitted'];

/** Drops a `display` that needs a beta which the target does not request; its default applies. */
const withoutBetaDisplay = (thinking: Json | undefined, target: WireTarget): Json | undefined => {
  const { display, ...rest } = thinking ?? {};
  const isStable = display === undefined || DISPLAYS.includes(asString(display) ?? '');
  return isStable || requestsBeta(target, 'thinking-display') ? thinking : rest;
};

// --- fields that depend on thinking ---

const MIN_TOP_P = 0.95;
/** 1 is the default and the maximum of both fields. Newer models reject a field set to it. */
const isBelowDefault = (value: number | undefined): boolean => value !== undefined && value < 1;

/** Callers of other protocols: one of the two fields, and with thinking only a high `top_p`. */
const encodeSampling = (request: GenerationRequest, thinking: Json | undefined): Json => {
  const { temperature, topP, topK } = request;
  if (isFromSameProtocol(request)) return omitUndefined({ temperature, top_p: topP, top_k: topK });
  if (thinking !== undefined && thinking.type !== 'disabled') {
    return topP !== undefined && topP >= MIN_TOP_P ? { top_p: topP } : {};
  }
  if (isBelowDefault(temperature)) return omitUndefined({ temperature, top_k: topK });
  return omitUndefined({ top_p: isBelowDefault(topP) ? topP : undefined, top_k: topK });
};

/** Edits of the conversation are of two betas: one clears parts of it, the other sums it up. */
export const takesManagement = (target: WireTarget): boolean =>
  requestsBeta(target, 'context-management') || requestsBeta(target, 'compact-');

/** The vendor rejects edits that clear thinking while it is off, also if the router turned it off. */
const withoutThinkingEdits = (management: unknown, thinking: Json | undefined): unknown => {
  const fields = asRecord(management);
  if (!fields || thinking?.type !== 'disabled') return management;
  const edits = asArray(fields.edits);
  const kept = edits.filter(
    (edit) => !asString(asRecord(edit)?.type)?.startsWith('clear_thinking'),
  );
  return edits.length > 0 && kept.length === 0 ? undefined : { ...fields, edits: kept };
};

/** `thinking` and the fields whose allowed values depend on it. */
export const encodeThinking = (
  request: GenerationRequest,
  passthrough: { thinking?: unknown; context_management?: unknown },
  { target, cap }: { target: WireTarget; cap: number },
) => {
  const encoded = encodeMode(request, asRecord(passthrough.thinking), cap);
  const thinking = withoutBetaDisplay(encoded, target);
  return {
    thinking,
    sampling: encodeSampling(request, thinking),
    contextManagement: takesManagement(target)
      ? withoutThinkingEdits(passthrough.context_management, thinking)
      : undefined,
  };
};
