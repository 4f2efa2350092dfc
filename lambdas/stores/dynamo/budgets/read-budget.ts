import type { BudgetStore } from '../../budget-store.ts';
import { createTable, type TableOptions } from '../table.ts';
import { countedIn, isCounted } from './counter-items.ts';
import { limitIn, spentOf } from './items.ts';
import { createTransfers } from './transfers.ts';

export const createReadBudget = (options: TableOptions): BudgetStore['readBudget'] => {
  const table = createTable(options);
  const { readShares } = createTransfers(table);
  return async (hold) => {
    const root = await table.read(hold.budget);
    if (!root) return undefined;
    if (isCounted(hold)) return countedIn(root, hold, options.client.clock.now());
    const shares = await readShares(root, hold);
    const sum = (of: (share: (typeof shares)[number]) => number) =>
      shares.reduce((total, share) => total + of(share), 0);
    return {
      spent: sum(spentOf),
      leased: sum(({ leased }) => leased),
      room: sum(({ room }) => room),
      limit: limitIn(root),
    };
  };
};
