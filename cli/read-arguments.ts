import { parseArgs } from 'node:util';
import { messageOf, usageError } from './cli-error.ts';

const OPTIONS = {
  name: { type: 'string' },
  rpm: { type: 'string' },
  quota: { type: 'string' },
  period: { type: 'string' },
  model: { type: 'string', multiple: true },
  'all-models': { type: 'boolean' },
  project: { type: 'string' },
  plan: { type: 'string' },
  expires: { type: 'string' },
  overlap: { type: 'string' },
  url: { type: 'string' },
  stack: { type: 'string' },
  region: { type: 'string' },
  profile: { type: 'string' },
  json: { type: 'boolean' },
  yes: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export type OptionName = keyof typeof OPTIONS;
/** As typed; `undefined` for what was left out. */
export type Options = ReturnType<typeof parse>['values'];

/** Options that every command takes. */
const EVERYWHERE: readonly string[] = [
  'url',
  'stack',
  'region',
  'profile',
  'json',
  'yes',
  'help',
] satisfies OptionName[];

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true });

/** @throws CliError 2 */
export const readArguments = (args: string[]): { words: string[]; options: Options } => {
  try {
    const { positionals, values } = parse(args);
    return { words: positionals, options: values };
  } catch (cause) {
    throw usageError(messageOf(cause), { cause });
  }
};

/** A misplaced option is a mistake, not a wish to be ignored. @throws CliError 2 */
export const refuseOthers = (options: Options, taken: readonly OptionName[]): void => {
  const others = Object.keys(options).filter(
    (name) => !EVERYWHERE.includes(name) && !taken.some((option) => option === name),
  );
  if (others.length > 0) {
    throw usageError(`This command does not take --${others.join(', --')}.`);
  }
};
