import * as s from '../../../support/schema.ts';
import { TTL_ATTRIBUTE } from '../../../tables.ts';
import { type Budget, type BudgetStore, type Hold, limitOf } from '../../budget-store.ts';

import { numberIn } from '../meter-item.ts';
import { createTable, type Item, type TableOptions } from '../table.ts';
import { lentName, MAX, PERIOD, returnedBy } from './items.ts';
import { createReadBudget } from './read-budget.ts';
import { createTransfers } from './transfers.ts';

const MAX_TRIES = 16;
/** The item that lists all budgets: an attribute of JSON for each. */
const LIST = 'budgets';

const Stored = s.object({
  period: s.oneOf(['hour', 'day', 'month', 'total']),
  name: s.string,
  project: s.exactOptional(s.string),
  max: s.number,
  setBy: s.string,
  setAt: s.number,
  since: s.exactOptional(s.number),
  isPaused: s.exactOptional(s.oneOf([true, false])),
});

const readStored = (item: Item | undefined, name: string): Budget | undefined => {
  const text = item?.[name];
  const [scope = '', ...id] = name.split('/');
  if (typeof text !== 'string' || id.length === 0) return undefined;
  const stored = s.readIfValid(Stored, JSON.parse(text));
  return stored && { isPaused: false, ...stored, scope, id: id.join('/') };
};

/** `BudgetStore` on the meters table, by the layout of items.ts. */
export const createDynamoBudgetStore = (options: TableOptions): BudgetStore => {
  const table = createTable(options);
  const { readShares, finish, recall } = createTransfers(table);

  /** Takes back what meters have not leased, until no more than `max` is lent or all of it is leased or spent. */
  const recallAbove = async (hold: Hold, max: number): Promise<void> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const root = await table.read(hold.budget);
      const excess = numberIn(root, lentName(hold)) - max;
      if (!root || excess <= 0) return;
      const shares = await readShares(root, hold);
      await finish(hold, shares);
      const drawn = await recall(shares, hold, excess);
      await finish(hold, drawn);
      if (drawn.length === 0 && returnedBy(shares) === 0) return;
    }
  };

  return {
    setBudget: async (budget, hold) => {
      const { scope, id, ...stored } = budget;
      const { max, period } = limitOf(budget);
      // The item of a user without a budget ends with its periods.
      const limit = { set: { [MAX]: max, [PERIOD]: period }, remove: [TTL_ATTRIBUTE] };
      await table.apply(hold.budget, limit);
      await table.apply(LIST, { set: { [`${scope}/${id}`]: JSON.stringify(stored) } });
      await recallAbove(hold, max);
    },
    deleteBudget: async (scope, id) => {
      await table.apply(`budget/${scope}/${id}`, { remove: [MAX] });
      await table.apply(LIST, { remove: [`${scope}/${id}`] });
    },
    findBudget: async (scope, id) => readStored(await table.read(LIST), `${scope}/${id}`),
    listBudgets: async () => {
      const item = await table.read(LIST);
      return Object.keys(item ?? {}).flatMap((name) => readStored(item, name) ?? []);
    },
    readBudget: createReadBudget(options),
  };
};
