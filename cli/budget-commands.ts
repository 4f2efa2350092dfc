import { usageError } from './cli-error.ts';
import type { Command, CommandInput } from './command.ts';
import { omitUndefined, required } from './read-options.ts';

const COLUMNS = [
  'scope',
  'id',
  'max_usd',
  'period',
  'spent_usd',
  'leased_usd',
  'remaining_usd',
  'paused',
  'set_by',
];

const dollarsIn = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d{1,2})?$/.test(text)) return Number(text);
  throw usageError(`--max-usd must be an amount such as 25 or 0.50 (got '${text}').`);
};

/** Of a key with `--key`, else of the project. */
const budgetPath = ({ options }: CommandInput, verb = ''): string => {
  const project = `/projects/${encodeURIComponent(required(options, 'project'))}`;
  const key = options.key === undefined ? '' : `/keys/${encodeURIComponent(options.key)}`;
  return `${project}${key}/budget${verb}`;
};

export const BUDGET_COMMANDS: Record<string, Command> = {
  'budgets list': {
    operands: [],
    options: [],
    request: () => ({ method: 'GET', path: '/budgets' }),
    lists: { data: COLUMNS },
  },
  'budgets show': {
    operands: [],
    options: ['project', 'key'],
    request: (input) => ({ method: 'GET', path: budgetPath(input) }),
  },
  'budgets set': {
    operands: [],
    options: ['project', 'key', 'max-usd', 'period', 'pause', 'resume'],
    request: (input) => {
      const { options } = input;
      if (options.pause && options.resume) {
        throw usageError('--pause and --resume are mutually exclusive.');
      }
      const body = omitUndefined({
        max_usd: dollarsIn(options['max-usd']),
        period: options.period,
        paused: options.pause ? true : options.resume ? false : undefined,
      });
      if (Object.keys(body).length === 0) {
        throw usageError('No field to set: pass --max-usd, --period, --pause or --resume.');
      }
      return { method: 'POST', path: budgetPath(input), body };
    },
    note: () => 'A new budget applies within 15 seconds, a changed limit at once.',
  },
  'budgets delete': {
    operands: [],
    options: ['project', 'key'],
    request: (input) => ({ method: 'POST', path: budgetPath(input, '/delete'), body: {} }),
    question: ({ options: { project, key } }) =>
      `The budget of ${key === undefined ? `project ${project}` : `key ${key}`} is deleted.`,
  },
};
