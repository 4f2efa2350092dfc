import { usageError } from './cli-error.ts';
import type { Command, CommandInput } from './command.ts';
import type { OptionName } from './options.ts';

const COLUMNS = ['scope', 'project', 'id', 'max_usd', 'period', 'spent_usd', 'leased_usd'];

/** Options that name whose budget it is: of the project, if none is given. */
const OWNERS = ['organisation', 'key', 'user', 'session', 'users', 'sessions'] as const;
const OPTIONS: OptionName[] = ['project', ...OWNERS];

/** @throws CliError 2 if several owners are named */
const ownerIn = ({ options }: CommandInput) => {
  const given = OWNERS.filter((name) => options[name] !== undefined);
  const [owner = 'project', other] = given;
  if (other || (options.organisation && options.project !== undefined)) {
    const all = [...given, ...(options.project === undefined ? [] : ['project'])];
    throw usageError(`${all.map((name) => `--${name}`).join(' and ')} are mutually exclusive.`);
  }
  return owner;
};

const budgetOf = (verb: 'show' | 'set' | 'delete') => (input: CommandInput) => {
  const owner = ownerIn(input);
  return owner === 'project' ? (`budgets.${verb}` as const) : (`${owner}-budgets.${verb}` as const);
};

/** `user ann`, `each of the users of team` */
const nameOf = (input: CommandInput): string => {
  const owner = ownerIn(input);
  const { project } = input.options;
  const id = input.options[owner];
  if (typeof id === 'string') return `${owner} ${id}`;
  return owner === 'organisation' ? 'the organisation' : `each of the ${owner} of ${project}`;
};

export const BUDGET_COMMANDS: Record<string, Command> = {
  'budgets list': {
    lists: { data: [...COLUMNS, 'remaining_usd', 'forecast_usd', 'paused', 'set_by'] },
  },
  'budgets show': { operation: budgetOf('show'), options: OPTIONS, example: '--project team' },
  'budgets set': {
    operation: budgetOf('set'),
    options: ['max-usd', 'period', 'pause', 'resume', ...OPTIONS],
    isChange: true,
    example: '--project team --max-usd 25 --period month',
    note: () => 'A new budget applies within 15 seconds, a changed limit at once.',
  },
  'budgets delete': {
    operation: budgetOf('delete'),
    options: OPTIONS,
    example: '--project team',
    question: (input) => `The budget of ${nameOf(input)} is deleted.`,
  },
};
