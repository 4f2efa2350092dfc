import type { Block, GenerationRequest, Turn } from '../generation.ts';

export const callIdsIn = ({ blocks }: Turn): string[] =>
  blocks.flatMap((block) => (block.type === 'tool-call' ? [block.id] : []));

type Rename = (id: string) => string;

export const renameCalls = (turns: Turn[], call: Rename, result: Rename): Turn[] => {
  const rename = (block: Block): Block => {
    if (block.type === 'tool-call') return { ...block, id: call(block.id) };
    return block.type === 'tool-result' ? { ...block, callId: result(block.callId) } : block;
  };
  return turns.map((turn) => ({ ...turn, blocks: turn.blocks.map(rename) }));
};

/**
 * Returns an id for each tool call of a response that is unique in the conversation: the upstream's if
 * it is unique, else a new one. New ids continue from the calls in the history, so no state is needed.
 */
export const createToolIds = (request: GenerationRequest) => {
  let used: Set<string> | undefined;
  let next = 0;
  const mint = (taken: Set<string>): string => {
    for (;;) {
      const id = `call_${next++}`;
      if (!taken.has(id)) return id;
    }
  };
  return (upstreamId: string | undefined): string => {
    // Most responses call no tool, and histories are long.
    if (!used) {
      used = new Set(request.turns.flatMap(callIdsIn));
      next = used.size;
    }
    const id = !upstreamId || used.has(upstreamId) ? mint(used) : upstreamId;
    used.add(id);
    return id;
  };
};
