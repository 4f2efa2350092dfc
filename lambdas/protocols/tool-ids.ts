import type { Block, GenerationRequest, Turn } from './generation.ts';

/** Ids of the tool calls of a turn. */
export const callIdsIn = ({ blocks }: Turn): string[] =>
  blocks.flatMap((block) => (block.type === 'tool-call' ? [block.id] : []));

type Rename = (id: string) => string;

/** The turns with their tool calls and the results of those under other ids. */
export const renameCalls = (turns: Turn[], call: Rename, result: Rename): Turn[] => {
  const rename = (block: Block): Block => {
    if (block.type === 'tool-call') return { ...block, id: call(block.id) };
    return block.type === 'tool-result' ? { ...block, callId: result(block.callId) } : block;
  };
  return turns.map((turn) => ({ ...turn, blocks: turn.blocks.map(rename) }));
};

/**
 * Gives each tool call of an answer an id that is unique in the conversation: the upstream's own where it
 * is, else a new one. New ones count on from the calls in the history, so no state is needed.
 */
export const createToolIds = (request: GenerationRequest) => {
  const taken = new Set(request.turns.flatMap(callIdsIn));
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
