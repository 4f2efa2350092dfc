import type { Counter, Hold } from '../../budget-store.ts';
import { StoreUnavailable } from '../../store-unavailable.ts';

import type { Table } from '../table.ts';
import { isOpen, MARK, nanosIn, tombstoneOf } from './counter-items.ts';
import { type Leaser, MAX_TRIES } from './counters.ts';
import { lentName } from './items.ts';

/** No mark is this. */
const ABSENT = '';
/** Ends the leases of the budgets of users and sessions. */
export const createCounterSettlement = (table: Table) => {
  /** One write that ends a mark; undefined: it is ended, else what it is or, if a copy may be applied later, that it is absent. */
  const end = async (
    { budget, hold, past, isUncertain }: Counter & { hold: Hold },
    { requestId, minute }: Leaser,
    { before, spent }: { before: string; spent: number },
  ): Promise<string | undefined> => {
    const name = MARK + requestId;
    const { applied, item } = await table.apply(budget, {
      ...(isUncertain ? { set: { [name]: tombstoneOf(minute) } } : { remove: [name, ...past] }),
      add: { [lentName(hold)]: spent - nanosIn(before) },
      conditions: [[name, '=', before]],
    });
    const mark = applied ? undefined : (item ?? (await table.read(budget)))?.[name];
    if (isOpen(mark)) return mark;
    return applied || mark !== undefined || !isUncertain ? undefined : ABSENT;
  };

  /** Leaves no way for a copy of a lease that is still in flight; whether there was none. */
  const bury = async ({ budget }: Counter, { requestId, minute }: Leaser): Promise<boolean> => {
    const name = MARK + requestId;
    return table.applies(budget, {
      set: { [name]: tombstoneOf(minute) },
      conditions: [[name, 'is absent']],
    });
  };

  /** Leaves what a request has cost; a copy of an earlier write changes nothing after it. Idempotent. */
  return async (counter: Counter, leaser: Leaser, spent: number): Promise<void> => {
    const { hold, isUncertain } = counter;
    let before = counter.mark ?? ABSENT;
    if (!hold || (before === ABSENT && !isUncertain)) return;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const left = await end({ ...counter, hold }, leaser, { before, spent });
      const isEnded = left === undefined || (left === ABSENT && (await bury(counter, leaser)));
      if (isEnded) return;
      before = left;
    }
    throw new StoreUnavailable('The budget changed faster than it could be read.');
  };
};
