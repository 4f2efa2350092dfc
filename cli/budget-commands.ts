import type { Command, CommandInput } from './command.ts';

const COLUMNS = ['scope', 'id', 'max_usd', 'period', 'spent_usd', 'leased_usd', 'remaining_usd'];

/** Of a key with `--key`, else of the project. */
const budgetOf =
  (verb: 'show' | 'set' | 'delete') =>
  ({ options: { key } }: CommandInput) =>
    key === undefined ? (`budgets.${verb}` as const) : (`key-budgets.${verb}` as const);

export const BUDGET_COMMANDS: Record<string, Command> = {
  'budgets list': { operation: 'budgets.list', lists: { data: [...COLUMNS, 'paused', 'set_by'] } },
  'budgets show': { operation: budgetOf('show'), options: ['project', 'key'] },
  'budgets set': {
    operation: budgetOf('set'),
    options: ['project', 'key', 'max-usd', 'period', 'pause', 'resume'],
    isChange: true,
    note: () => 'A new budget applies within 15 seconds, a changed limit at once.',
  },
  'budgets delete': {
    operation: budgetOf('delete'),
    options: ['project', 'key'],
    question: ({ options: { project, key } }) =>
      `The budget of ${key === undefined ? `project ${project}` : `key ${key}`} is deleted.`,
  },
};
