import { PROGRAM } from '#program';
import { namesIn, OPERATIONS } from '../lambdas/operations.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { isFlag, type OptionName } from './read-arguments.ts';

/** Values of examples, by the names of operands and options. */
const VALUES: Record<string, string> = {
  ...{ ID: 'team', 'KEY-ID': 'key_0123456789abcdef', START: 'mrk_live_abcd', PROJECT: 'team' },
  ...{ 'REQUEST-ID': 'req_0123456789abcdef', EMAIL: 'ada@example.com', FILE: 'setup.json' },
  ...{ URL: 'https://example.com/hook', '[MODEL]': 'aurora/scribe-1' },
  ...{ project: 'team', plan: 'small', rpm: '60', quota: '1000', period: 'day', role: 'viewer' },
  ...{ name: 'Team', month: '2026-10', format: 'focus', from: '7d', 'max-usd': '25' },
};

const WHEN = '12h|90d|2026-11-01|2026-11-01T08:00:00Z';

/** What options accept, by their names; of a resource that accepts others behind its name. */
const ALLOWED: Record<string, string> = {
  period: 'hour|day|month',
  'budgets period': 'hour|day|month|total',
  replay: 'header|retries|off',
  state: 'off|asked|default',
  loops: 'off|warn|stop',
  priority: 'interactive|batch',
  overlap: 'none|1h|24h|7d',
  reason: 'leaked',
  'keys status': 'active|paused|expired|revoked',
  'requests status': '429|5xx|finished|failed|refused|abandoned',
  require: 'region=WORD|retention=WORD|none',
  by: 'day|model|key|project|user|session|agent|client|tag:NAME',
  format: 'focus|cloudevents|stripe|openmeter|ndjson',
  meter: 'cost|tokens|requests',
  provider: 'anthropic|openai',
  role: 'operator|viewer|project:ID',
  tag: 'NAME=VALUE',
  month: '2026-10',
  ...{ since: WHEN, until: WHEN, from: WHEN, to: WHEN, expires: WHEN },
  ...Object.fromEntries(
    ['rpm', 'quota', 'concurrency', 'limit', 'max-keys', 'max-wait-ms', 'weight'].map((name) => [
      name,
      'N',
    ]),
  ),
  'max-usd': '25|0.50',
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

/** Arguments, options and an example of a command, from its row. */
export const helpOf = (command: Command): string => {
  const [name = ''] = Object.entries(COMMANDS).find(([, one]) => one === command) ?? [];
  const needed = neededBy(command);
  const shown = (option: OptionName): string => {
    const [resource = ''] = name.split(' ');
    const values = ALLOWED[`${resource} ${option}`] ?? ALLOWED[option] ?? option.toUpperCase();
    const text = isFlag(option) ? `--${option}` : `--${option} ${values}`;
    return needed.includes(option) ? text : `[${text}]`;
  };
  const { operands = {}, options = [] } = command;
  const words = [name, ...Object.values(operands), ...options.map(shown), '[--json] [--yes]'];
  return [
    `Usage: ${PROGRAM.admin} ${words.join(' ')}`,
    `Example: ${PROGRAM.admin} ${`${name} ${exampleOf(command)}`.trim()}`,
    `All commands, connection and exit codes: ${PROGRAM.admin} --help`,
  ].join('\n');
};
