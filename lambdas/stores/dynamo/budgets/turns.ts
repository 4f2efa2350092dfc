import type { BudgetRefusal, Lease } from '../../budget-store.ts';

/** Of one budget: the end of its last turn, and the last refusals by item. */
type Queue = {
  last: Promise<unknown>;
  waiting: number;
  refused: Map<string, { refusal: BudgetRefusal; since: number }>;
};

/** With as many in front of it, a request would wait for more than a second where a call to a table takes 20 ms. */
const CROWD = 64;

/** The widest budget of a request, which most others are under, too. */
const nameOf = ({ holds: [hold] }: Lease): string => (hold ? `${hold.budget}|${hold.label}` : '');

/**
 * Requests of a process that find no room in their items look for it one after another: each moves dollars between the same
 * items, and would be in the way of the others. One that was refused while others waited answers those of them that need as
 * much for the same item. In a crowd the last refusal of the item answers at once: its caller repeats a 429 after a second.
 */
export const createTurns = () => {
  const queues = new Map<string, Queue>();
  let count = 0;

  /** `hasWaited`: the item may have changed since. */
  return async <Found extends { refusal?: BudgetRefusal | undefined }>(
    lease: Lease,
    { key, needed }: { key: string; needed: number },
    seek: (hasWaited: boolean) => Promise<Found>,
  ): Promise<Found | { refusal: BudgetRefusal }> => {
    const name = nameOf(lease);
    const queue = queues.get(name) ?? { last: Promise.resolve(), waiting: 0, refused: new Map() };
    queues.set(name, queue);
    const last = queue.refused.get(key)?.refusal;
    if (queue.waiting >= CROWD && last && last.needed <= needed) {
      return { refusal: { ...last, needed } };
    }
    count += 1;
    const arrival = count;
    const hasWaited = queue.waiting > 0;
    const ahead = queue.last;
    const take = async () => {
      await ahead.catch(() => undefined);
      const known = queue.refused.get(key);
      if (known && known.since > arrival && known.refusal.needed <= needed) {
        return { refusal: { ...known.refusal, needed } };
      }
      count += 1;
      const since = count;
      const found = await seek(hasWaited);
      if (found.refusal?.kind === 'in-flight') {
        queue.refused.set(key, { refusal: found.refusal, since });
      }
      return found;
    };
    const turn = take();
    queue.last = turn;
    queue.waiting += 1;
    try {
      return await turn;
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(name);
    }
  };
};
