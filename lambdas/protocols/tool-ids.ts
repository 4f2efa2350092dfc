import type { GenerationRequest } from './generation.ts';

/**
 * Gives each tool call of an answer an id that is unique in the conversation: the upstream's own where it
 * is, else a new one. New ones count on from the calls in the history, so no state is needed.
 */
export const createToolIds = (request: GenerationRequest) => {
  const taken = new Set(
    request.turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'tool-call' ? [block.id] : [])),
    ),
  );
  let next = taken.size;
  const mint = (): string => {
    const id = `call_${next++}`;
    return taken.has(id) ? mint() : id;
  };
  return (wanted: string | undefined): string => {
    const id = !wanted || taken.has(wanted) ? mint() : wanted;
    taken.add(id);
    return id;
  };
};
