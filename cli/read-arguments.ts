import { parseArgs } from 'node:util';
import { messageOf, usageError } from './cli-error.ts';

const FLAGS = [
  ...(['all-models', 'all-plans', 'csv', 'follow', 'force', 'json', 'no-calls', 'once'] as const),
  ...(['organisation', 'pause', 'resume', 'sessions', 'users', 'yes'] as const),
] as const;
/** May be given several times. */
const LISTS = ['model', 'allow-plan', 'require', 'role'] as const;
const TEXTS = [
  ...([
    'account',
    'agent',
    'by',
    'client',
    'concurrency',
    'customers',
    'error',
    'expires',
  ] as const),
  ...(['fault', 'format', 'from', 'invoice', 'key', 'limit', 'loops', 'max-keys'] as const),
  ...(['max-usd', 'max-wait-ms', 'meter', 'month', 'name', 'out', 'overlap', 'period'] as const),
  ...(['plan', 'priority', 'profile', 'project', 'provider', 'quota', 'reason', 'region'] as const),
  ...(['replay', 'rpm', 'search', 'secret', 'session', 'since', 'sort', 'stack', 'state'] as const),
  ...([
    'status',
    'tag',
    'target',
    'to',
    'until',
    'upstream',
    'url',
    'user',
    'weight',
    'who',
  ] as const),
] as const;

const each = <Name extends string, Kind>(names: readonly Name[], kind: Kind) =>
  Object.fromEntries(names.map((name) => [name, kind])) as Record<Name, Kind>;

const OPTIONS = {
  ...each(FLAGS, { type: 'boolean' } as const),
  ...each(LISTS, { type: 'string', multiple: true } as const),
  ...each(TEXTS, { type: 'string' } as const),
  help: { type: 'boolean', short: 'h' },
} as const;

export type OptionName = keyof typeof OPTIONS;
export const isFlag = (name: OptionName): boolean => OPTIONS[name].type === 'boolean';
/** Option values as typed; `undefined` for omitted options. */
export type Options = ReturnType<typeof parse>['values'];

/** Options that every command accepts. */
export const GLOBAL_OPTIONS: readonly string[] = [
  ...(['url', 'stack', 'region', 'profile', 'json', 'yes', 'help'] satisfies OptionName[]),
];

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true });

const parsed = (args: string[]): ReturnType<typeof parse> => {
  try {
    return parse(args);
  } catch (cause) {
    throw usageError(describe(cause), { cause });
  }
};

/** In place of Node's advice about positional arguments. */
const describe = (error: unknown): string => {
  const text = messageOf(error);
  const [, option = ''] = /'(-[^ ']+)/.exec(text) ?? [];
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `Unknown option '${option}'.`;
  if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') return text;
  return text.includes('does not take an argument')
    ? `Option ${option} has no value.`
    : `Missing value: ${option}`;
};

const MONTH = /^20\d\d-(?:0[1-9]|1[0-2])$/;

/** Splits the command line into words and options. @throws CliError 2 on an unknown option, or a month in another form */
export const readArguments = (args: string[]): { words: string[]; options: Options } => {
  const { positionals: words, values: options } = parsed(args);
  const { month } = options;
  if (month === undefined || MONTH.test(month)) return { words, options };
  throw usageError(`--month must be 2026-10 (got '${month}').`);
};

/** Rejects options of other commands instead of ignoring them. @throws CliError 2 */
export const rejectOtherOptions = (options: Options, accepted: readonly OptionName[]): void => {
  const rejected = Object.keys(options).filter(
    (name) => !GLOBAL_OPTIONS.includes(name) && !accepted.some((option) => option === name),
  );
  if (rejected.length > 0) {
    throw usageError(`Unknown option for this command: --${rejected.join(', --')}`);
  }
};
