/** Adapts a request to what an upstream accepts: ids and the thinking of earlier responses. */
import { createHash } from 'node:crypto';
import type { GenerationRequest, Turn } from '../generation.ts';
import type { WireTarget } from '../protocol.ts';
import { callIdsIn, renameCalls } from '../tools/ids.ts';

// --- tool-call ids ---

/** The rule of Mistral, and of servers that run its models with its tokenizer. */
const VALID_SHORT_ID = /^[a-zA-Z0-9]{9}$/;

export const isShortId = (id: string): boolean => VALID_SHORT_ID.test(id);

const hashOf = (text: string): string =>
  createHash('sha256')
    .update(text)
    .digest('base64')
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9);

/** The short form of each id: unchanged if valid. Different ids stay different. */
const createShortIds = (ids: string[]) => {
  const shortIds = new Map(ids.filter(isShortId).map((id) => [id, id]));
  const used = new Set(shortIds.keys());
  const mint = (id: string, salt = ''): string => {
    const short = hashOf(id + salt);
    return used.has(short) ? mint(id, `${salt}+`) : short;
  };
  return (id: string): string => {
    const short = shortIds.get(id) ?? mint(id);
    shortIds.set(id, short);
    used.add(short);
    return short;
  };
};

/**
 * Shortens tool-call ids for targets with `toolCallIds: short`. The same history always maps alike.
 * There is no inverse: a response never names an earlier call.
 */
export const withShortCallIds = (
  request: GenerationRequest,
  { toolCallIds }: WireTarget,
): GenerationRequest => {
  if (toolCallIds !== 'short') return request;
  const shortId = createShortIds(request.turns.flatMap(callIdsIn));
  return { ...request, turns: renameCalls(request.turns, shortId, shortId) };
};

// --- thinking of earlier responses ---

/** Replaces missing thinking: upstreams that require the field reject an empty text. */
const PLACEHOLDER = { type: 'thinking' as const, text: ' ' };

const addThinking = (turn: Turn): Turn => {
  const hasThinking = turn.blocks.some(({ type }) => type === 'thinking');
  return turn.role !== 'assistant' || hasThinking
    ? turn
    : { ...turn, blocks: [PLACEHOLDER, ...turn.blocks] };
};

const removeThinking = (turn: Turn): Turn => ({
  ...turn,
  blocks: turn.blocks.filter(({ type }) => type !== 'thinking'),
});

/**
 * Adapts the thinking of earlier responses to the target's `reasoningHistory`: some upstreams reject
 * it as an unknown field, some require it on every assistant turn.
 */
export const withReasoningHistory = (
  request: GenerationRequest,
  { reasoningHistory }: WireTarget,
): GenerationRequest => {
  if (reasoningHistory === undefined) return request;
  const adapt = reasoningHistory === 'required' ? addThinking : removeThinking;
  return { ...request, turns: request.turns.map(adapt) };
};
