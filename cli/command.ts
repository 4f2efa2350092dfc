import { namesIn, OPERATIONS, type OperationName } from '../lambdas/operations.ts';
import { requestFor } from './admin-client.ts';
import { usageError } from './cli-error.ts';
import type { Connection, Env } from './connection.ts';
import { type Members, membersIn, type OptionName, type Options, required } from './options.ts';

export type CommandInput = {
  /** Arguments after resource and verb, as many as `Command.operands` names. */
  operands: string[];
  options: Options;
  /** Milliseconds since the epoch. */
  now: number;
  env: Env;
  /** Of how many more responses the command will make its own: for the bar of its progress. */
  expect(responses: number): void;
};

/** A command as data: its arguments, its operation, and the format of its output. */
export type Command = {
  /**
   * The arguments after resource and verb: the part of the path or the member that each is, '' for neither, and its name for
   * readers: `ID`; `[ID]` may be omitted.
   * @default none
   */
  operands?: Record<string, string>;
  /**
   * Options that the command accepts, in addition to the global ones. Those that the path has no place for are members of the
   * query or the body.
   * @default none
   */
  options?: OptionName[];
  /** What follows the command in the example of its help. @default the arguments and the options that must be given */
  example?: string;
  /** Those of them that must be given, besides those of the path. */
  needs?: OptionName[];
  /** The command sets what is given, and at least one member. */
  isChange?: true;
  /**
   * The operation that the command asks for; undefined if the options ask for more than one.
   * @default that of the command's name, unless it performs itself
   */
  operation?: OperationName | ((input: CommandInput) => OperationName | undefined);
  /** How options become members of this command, where it differs from other commands. */
  reads?: Members;
  /** Members that no option sets. @throws CliError 2 on invalid input */
  members?(input: CommandInput): object | Promise<object>;
  /** Runs a command of more than one request; without an operation. @throws CliError */
  perform?(input: CommandInput, connection: Connection): Promise<Record<string, unknown>>;
  /** Confirmation prompt before the request; undefined if the command is not destructive. */
  question?(input: CommandInput): string | undefined;
  /**
   * List members of the response, and the columns of their tables.
   * @default the response is printed as one record
   */
  lists?: Record<string, string[]> | ((input: CommandInput) => Record<string, string[]>);
  /**
   * The list is read page by page: `cursor` of the next request is `next_cursor` of the last response.
   * @default one request
   */
  isPaged?: boolean;
  /** On a terminal the output is shown again every two seconds, unless `--once` or `--json` is given. */
  isLive?: true;
  /** Columns of `--csv`. */
  csv?(input: CommandInput): string[];
  /** Formats the response, in place of a table or record. */
  print?(response: Record<string, unknown>): string;
  /** Printed to stderr after success. */
  note?(response: Record<string, unknown>): string | undefined;
  /** Why the command ends with exit code 1 although it was executed; undefined for success. */
  failure?(response: Record<string, unknown>): string | undefined;
};

/** The request of a command; undefined if it asks for more than one. @throws CliError 2 on invalid input */
export const requestOf = async (command: Command, input: CommandInput) => {
  const { operation: asked, operands = {}, options: names = [], needs = [] } = command;
  const { options, now } = input;
  const operation = typeof asked === 'function' ? asked(input) : asked;
  if (operation === undefined) return undefined;
  const given = Object.fromEntries(
    Object.keys(operands).map((name, index) => [name, input.operands[index]]),
  );
  const inPath = namesIn(OPERATIONS[operation][2]);
  const parameters = inPath.map((name) => [
    name,
    given[name] ?? required(options, name as OptionName),
  ]);
  for (const name of needs) if (!options[name]) throw usageError(`Missing option: --${name}`);
  const others = names.filter((name) => !inPath.includes(name));
  const set = membersIn(options, others, now, command.reads);
  if (command.isChange && Object.keys(set).length === 0) {
    throw usageError(`No field to set: pass ${others.map((name) => `--${name}`).join(', ')}.`);
  }
  const own = Object.entries(given).filter(([name]) => name !== '' && !inPath.includes(name));
  const members = { ...(await command.members?.(input)), ...Object.fromEntries(own), ...set };
  return requestFor(operation, Object.fromEntries(parameters), members);
};
