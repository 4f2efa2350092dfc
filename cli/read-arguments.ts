import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf, usageError } from './cli-error.ts';
import { OPTIONS, type Option, type OptionName, type Options } from './options.ts';

/** Options that every command accepts. */
export const GLOBAL_OPTIONS: readonly string[] = [
  ...(['url', 'stack', 'region', 'profile', 'json', 'yes', 'help'] satisfies OptionName[]),
];

const CONFIG: ParseArgsOptionsConfig = Object.fromEntries(
  Object.entries<Option>(OPTIONS).map(([name, { kind, short }]) => [
    name,
    {
      ...{ type: kind === 'flag' ? 'boolean' : 'string', multiple: kind === 'list' },
      ...(short && { short }),
    },
  ]),
);

const parsed = (args: string[]) => {
  try {
    return parseArgs({ args, options: CONFIG, allowPositionals: true });
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
  const { positionals: words, values } = parsed(args);
  const options = values as Options;
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
