import { parseArgs } from 'node:util';
import { messageOf, usageError } from './cli-error.ts';

const OPTIONS = {
  name: { type: 'string' },
  rpm: { type: 'string' },
  concurrency: { type: 'string' },
  quota: { type: 'string' },
  period: { type: 'string' },
  model: { type: 'string', multiple: true },
  'all-models': { type: 'boolean' },
  'allow-plan': { type: 'string', multiple: true },
  'all-plans': { type: 'boolean' },
  'max-keys': { type: 'string' },
  replay: { type: 'string' },
  'max-usd': { type: 'string' },
  pause: { type: 'boolean' },
  resume: { type: 'boolean' },
  force: { type: 'boolean' },
  'no-calls': { type: 'boolean' },
  project: { type: 'string' },
  plan: { type: 'string' },
  expires: { type: 'string' },
  overlap: { type: 'string' },
  key: { type: 'string' },
  status: { type: 'string' },
  user: { type: 'string' },
  session: { type: 'string' },
  agent: { type: 'string' },
  client: { type: 'string' },
  tag: { type: 'string' },
  search: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  who: { type: 'string' },
  role: { type: 'string', multiple: true },
  limit: { type: 'string' },
  by: { type: 'string' },
  month: { type: 'string' },
  format: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  account: { type: 'string' },
  meter: { type: 'string' },
  customers: { type: 'string' },
  out: { type: 'string' },
  provider: { type: 'string' },
  invoice: { type: 'string' },
  upstream: { type: 'string' },
  secret: { type: 'string' },
  csv: { type: 'boolean' },
  url: { type: 'string' },
  stack: { type: 'string' },
  region: { type: 'string' },
  profile: { type: 'string' },
  json: { type: 'boolean' },
  yes: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export type OptionName = keyof typeof OPTIONS;
/** Option values as typed; `undefined` for omitted options. */
export type Options = ReturnType<typeof parse>['values'];

/** Options that every command accepts. */
const GLOBAL_OPTIONS: readonly string[] = [
  'url',
  'stack',
  'region',
  'profile',
  'json',
  'yes',
  'help',
] satisfies OptionName[];

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true });

/** Splits the command line into words and options. @throws CliError 2 on an unknown option */
export const readArguments = (args: string[]): { words: string[]; options: Options } => {
  try {
    const { positionals, values } = parse(args);
    return { words: positionals, options: values };
  } catch (cause) {
    throw usageError(messageOf(cause), { cause });
  }
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
