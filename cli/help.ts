import { PROGRAM } from '#program';
import { namesIn, OPERATIONS } from '../lambdas/operations.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { isFlag, type OptionName, optionOf } from './options.ts';

/** Values of examples, by the names of operands and options. */
const VALUES: Record<string, string> = {
  ...{ ID: 'team', 'KEY-ID': 'key_0123456789abcdef', START: 'mrk_live_abcd', PROJECT: 'team' },
  ...{ 'REQUEST-ID': 'req_0123456789abcdef', EMAIL: 'ada@example.com', FILE: 'setup.json' },
  ...{ URL: 'https://example.com/hook', '[MODEL]': 'aurora/scribe-1' },
  ...{ project: 'team', plan: 'small', rpm: '60', quota: '1000', period: 'day', role: 'viewer' },
  ...{ name: 'Team', month: '2026-10', format: 'focus', from: '7d', 'max-usd': '25' },
};

/** What options accept where it depends on the resource; otherwise it is in their table. */
const OF_RESOURCE: Record<string, string> = {
  'budgets period': 'hour|day|month|total',
  'keys status': 'active|paused|expired|revoked',
  'requests status': '429|5xx|finished|failed|refused|abandoned',
};

/** Options that must be given: those of the path, and those of the command. */
const neededBy = ({ operation, operands = {}, needs = [] }: Command): OptionName[] => {
  const path = typeof operation === 'string' ? OPERATIONS[operation][2] : '';
  const inPath = namesIn(path).filter((name) => !Object.hasOwn(operands, name));
  return [...new Set([...(inPath as OptionName[]), ...needs])];
};

const given = (name: OptionName): string => {
  if (isFlag(name)) return `--${name}`;
  return `--${name} ${VALUES[name] ?? name.toUpperCase()}`;
};

const exampleOf = (command: Command): string => {
  if (command.example !== undefined) return command.example;
  const { operands = {}, options = [], isChange = false } = command;
  const needed = neededBy(command);
  const changed = options.filter((name) => isChange && !needed.includes(name)).slice(0, 1);
  const words = Object.values(operands).map((name) => VALUES[name] ?? name);
  return [...words, ...[...needed, ...changed].map(given)].join(' ');
};

/** What some commands do beyond their names, for the list of all. */
const ABOUT: Record<string, string> = {
  'projects delete': 'one without usable keys',
  'webhooks set': 'where the ends of background responses are sent; its secret is shown once',
  'plans delete': 'one that no usable key has',
  'keys find': 'the key that begins so, in any project; of a whole key only its SHA-256 is sent',
  'keys create': "limits below the plan's, and requirements in addition to them",
  'keys revoke': 'at once and for good; a reason is in the audit and the alert',
  'budgets list':
    'dollars that requests may cost, what is spent and leased, and a forecast of the period',
  'budgets set': '--users, --sessions: of each one of the project without a separate budget',
  'usage list':
    'without a range or a grouping the current minute and period of each key; --csv streams an export',
  reconcile:
    'bring the history up to date, and compare it with the meters, or a month with what the provider bills',
  export: 'costs for finance tools, usage events for billing: docs/costs.md',
  'incidents list': 'what fails now or did within a day, since when, whom it hits, and its runbook',
  'requests show': 'what happened to a request, whose fault it was, and what to do',
  'requests list': '--follow prints each further request when it ends',
  top: 'a live screen: requests, failures and spend of the last minutes, by model and target',
  'audit list': 'who changed what, before and after',
  'members list': 'users of the console of a stack, by the beginning of their addresses',
  'members set': 'all roles of a member',
  'operators invite': 'members invite EMAIL --role operator',
  doctor: 'check endpoints, clock, quotas, catalog, credentials, tables, and call every target',
  'targets list': "the catalog's targets and the states of their breakers",
  'targets test': 'call every target: whole, streamed, with a tool',
  calibrate: 'how its providers frame a prompt, from what they counted; a block for the catalog',
  apply:
    'create the projects, plans, keys and budgets of a JSON file; --force overwrites plans and budgets',
};

const wordsOf = (name: string, command: Command): string[] => {
  const needed = neededBy(command);
  const shown = (option: OptionName): string => {
    const [resource = ''] = name.split(' ');
    const { accepts = option.toUpperCase() } = optionOf(option);
    const values = OF_RESOURCE[`${resource} ${option}`] ?? accepts;
    const text = isFlag(option) ? `--${option}` : `--${option} ${values}`;
    return needed.includes(option) ? text : `[${text}]`;
  };
  const { operands = {}, options = [] } = command;
  return [name, ...Object.values(operands), ...options.map(shown)];
};

const WIDTH = 118;

const wrapped = (words: string[]): string => {
  const lines = [' '];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(`      ${word}`);
  }
  return lines.join('\n');
};

export const listOfCommands = (): string =>
  Object.entries(COMMANDS)
    .map(([name, command]) => {
      const about = ABOUT[name];
      return wrapped(wordsOf(name, command)) + (about ? `\n      ${about}` : '');
    })
    .join('\n');

export const helpOf = (command: Command): string => {
  const [name = ''] = Object.entries(COMMANDS).find(([, one]) => one === command) ?? [];
  return [
    `Usage: ${PROGRAM.admin} ${[...wordsOf(name, command), '[--json] [--yes]'].join(' ')}`,
    `Example: ${PROGRAM.admin} ${`${name} ${exampleOf(command)}`.trim()}`,
    `All commands, connection and exit codes: ${PROGRAM.admin} --help`,
  ].join('\n');
};
