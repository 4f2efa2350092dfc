import { createHash } from 'node:crypto';
import type { GenerationRequest } from '../generation.ts';
import type { WireTarget } from '../protocol.ts';
import { callIdsIn, renameCalls } from '../tool-ids.ts';

/** Mistral's rule, and that of servers which run its models with its own tokenizer. */
const FITS = /^[a-zA-Z0-9]{9}$/;

const hashOf = (text: string): string =>
  createHash('sha256')
    .update(text)
    .digest('base64')
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9);

/** The short form of each id: itself where it fits. Different ids stay different. */
const createShortIds = (ids: string[]) => {
  const shortened = new Map(ids.filter((id) => FITS.test(id)).map((id) => [id, id]));
  const taken = new Set(shortened.keys());
  const mint = (id: string, salt = ''): string => {
    const short = hashOf(id + salt);
    return taken.has(short) ? mint(id, `${salt}+`) : short;
  };
  return (id: string): string => {
    const short = shortened.get(id) ?? mint(id);
    shortened.set(id, short);
    taken.add(short);
    return short;
  };
};

/**
 * The request with tool-call ids as the target takes them. The same history always maps the same way, and
 * nothing needs to be mapped back: an upstream names no earlier call in its answer.
 */
export const withShortCallIds = (
  request: GenerationRequest,
  { toolCallIds }: WireTarget,
): GenerationRequest => {
  if (toolCallIds !== 'short') return request;
  const shortId = createShortIds(request.turns.flatMap(callIdsIn));
  return { ...request, turns: renameCalls(request.turns, shortId, shortId) };
};
