import { parseArgs } from 'node:util';
import { messageOf, usageError } from './cli-error.ts';

const TEXT = { type: 'string' } as const;
const LIST = { type: 'string', multiple: true } as const;
const FLAG = { type: 'boolean' } as const;

const OPTIONS = {
  name: TEXT,
  rpm: TEXT,
  concurrency: TEXT,
  quota: TEXT,
  period: TEXT,
  model: LIST,
  'all-models': FLAG,
  'allow-plan': LIST,
  'all-plans': FLAG,
  'max-keys': TEXT,
  replay: TEXT,
  state: TEXT,
  require: LIST,
  loops: TEXT,
  'max-wait-ms': TEXT,
  priority: TEXT,
  weight: TEXT,
  'max-usd': TEXT,
  pause: FLAG,
  resume: FLAG,
  force: FLAG,
  'no-calls': FLAG,
  project: TEXT,
  plan: TEXT,
  expires: TEXT,
  overlap: TEXT,
  reason: TEXT,
  key: TEXT,
  status: TEXT,
  user: TEXT,
  session: TEXT,
  users: FLAG,
  sessions: FLAG,
  organisation: FLAG,
  agent: TEXT,
  client: TEXT,
  target: TEXT,
  error: TEXT,
  fault: TEXT,
  tag: TEXT,
  search: TEXT,
  since: TEXT,
  until: TEXT,
  who: TEXT,
  role: LIST,
  limit: TEXT,
  sort: TEXT,
  by: TEXT,
  month: TEXT,
  format: TEXT,
  from: TEXT,
  to: TEXT,
  account: TEXT,
  meter: TEXT,
  customers: TEXT,
  out: TEXT,
  provider: TEXT,
  invoice: TEXT,
  upstream: TEXT,
  secret: TEXT,
  csv: FLAG,
  follow: FLAG,
  once: FLAG,
  url: TEXT,
  stack: TEXT,
  region: TEXT,
  profile: TEXT,
  json: FLAG,
  yes: FLAG,
  help: { ...FLAG, short: 'h' },
} as const;

export type OptionName = keyof typeof OPTIONS;
export const isFlag = (name: OptionName): boolean => OPTIONS[name].type === 'boolean';
/** Option values as typed; `undefined` for omitted options. */
export type Options = ReturnType<typeof parse>['values'];

/** Options that every command accepts. */
export const GLOBAL_OPTIONS: readonly string[] = [
  'url',
  'stack',
  'region',
  'profile',
  'json',
  'yes',
  'help',
] satisfies OptionName[];

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
