import type { Block, Turn } from '../generation.ts';

/**
 * The turns with tool-call ids that are unique, as this wire demands: callers who changed models may hold
 * `call_0` once in each turn. The n-th repetition is renamed, its result with it, every time the same.
 */
export const withUniqueCalls = (turns: Turn[]): Turn[] => {
  const taken = new Set<string>();
  /** Original id -> unique ids of calls whose result is still to come, and the last one. */
  const open = new Map<string, string[]>();

  const nameCall = (id: string): string => {
    let unique = id;
    for (let count = 2; taken.has(unique); count += 1) unique = `${id}_${count}`;
    taken.add(unique);
    open.set(id, [...(open.get(id) ?? []), unique]);
    return unique;
  };

  const nameResult = (id: string): string => {
    const [next = id, ...later] = open.get(id) ?? [];
    // The last one stays, for a result that comes twice.
    if (later.length > 0) open.set(id, later);
    return next;
  };

  const rename = (block: Block): Block => {
    if (block.type === 'tool-call') return { ...block, id: nameCall(block.id) };
    if (block.type === 'tool-result') return { ...block, callId: nameResult(block.callId) };
    return block;
  };

  return turns.map((turn) => ({ ...turn, blocks: turn.blocks.map(rename) }));
};
