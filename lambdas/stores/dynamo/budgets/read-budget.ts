import type { BudgetStore } from '../../budget-store.ts';
import { createTable, type TableOptions } from '../table.ts';
import { countedIn, isCounted } from './counter-items.ts';
import { limitIn, spentOf, sumOf } from './items.ts';
import { createTransfers } from './transfers.ts';

export const createReadBudget = (options: TableOptions): BudgetStore['readBudget'] => {
  const table = createTable(options);
  const { readShares } = createTransfers(table);
  return async (hold) => {
    const root = await table.read(hold.budget);
    if (!root) return undefined;
    if (isCounted(hold)) return countedIn(root, hold, options.client.clock.now());
    const shares = await readShares(root, hold);
    return {
      spent: sumOf(shares, spentOf),
      leased: sumOf(shares, ({ leased }) => leased),
      room: sumOf(shares, ({ room }) => room),
      limit: limitIn(root),
    };
  };
};
