import type { GenerationRequest, Turn } from '../generation.ts';
import type { WireTarget } from '../protocol.ts';

/** Stands for thinking that is not there; an upstream that insists takes an empty text for none. */
const PLACEHOLDER = { type: 'thinking' as const, text: ' ' };

const complete = (turn: Turn): Turn => {
  const isComplete = turn.blocks.some(({ type }) => type === 'thinking');
  return turn.role !== 'assistant' || isComplete
    ? turn
    : { ...turn, blocks: [PLACEHOLDER, ...turn.blocks] };
};

const strip = (turn: Turn): Turn => ({
  ...turn,
  blocks: turn.blocks.filter(({ type }) => type !== 'thinking'),
});

/**
 * The request with the thinking of earlier answers as the upstream accepts it: some refuse it as a field
 * they do not know, and some refuse an answer of their own that comes back without.
 */
export const withReasoningHistory = (
  request: GenerationRequest,
  { reasoningHistory }: WireTarget,
): GenerationRequest => {
  if (reasoningHistory === undefined) return request;
  const adapt = reasoningHistory === 'required' ? complete : strip;
  return { ...request, turns: request.turns.map(adapt) };
};
