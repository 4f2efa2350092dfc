import type { Turn } from '../generation.ts';
import { renameCalls } from '../tool-ids.ts';

/**
 * The turns with tool-call ids that are unique, as this wire demands: callers who changed models may hold
 * `call_0` once in each turn. The n-th repetition is renamed, its result with it, every time the same.
 */
export const withUniqueCalls = (turns: Turn[]): Turn[] => {
  const taken = new Set<string>();
  /** Original id -> unique ids of its calls whose result is still to come. */
  const pending = new Map<string, string[]>();
  const latest = new Map<string, string>();

  const nameCall = (id: string): string => {
    let unique = id;
    for (let count = 2; taken.has(unique); count += 1) unique = `${id}_${count}`;
    taken.add(unique);
    latest.set(id, unique);
    pending.set(id, [...(pending.get(id) ?? []), unique]);
    return unique;
  };

  /** Results of calls with the same id come in the order of the calls. */
  const nameResult = (id: string): string => {
    const [next, ...later] = pending.get(id) ?? [];
    pending.set(id, later);
    return next ?? latest.get(id) ?? id;
  };

  return renameCalls(turns, nameCall, nameResult);
};
