import type { AdminRequest } from './admin-client.ts';
import type { Connection, Env } from './connection.ts';
import type { OptionName, Options } from './read-arguments.ts';

export type CommandInput = {
  /** Arguments after resource and verb, as many as `Command.operands` names. */
  operands: string[];
  options: Options;
  /** Milliseconds since the epoch. */
  now: number;
  env: Env;
};

/** A command as data: its arguments, its request, and the format of its output. */
export type Command = {
  /** Names of the operands, e.g. `ID`; `[ID]` may be omitted. */
  operands: string[];
  /** Options that the command accepts, in addition to the global ones. */
  options: OptionName[];
  /** Builds the request; undefined if the options ask for more than one. @throws CliError 2 on invalid input */
  request?(input: CommandInput): AdminRequest | undefined | Promise<AdminRequest>;
  /** Runs a command of more than one request; where `request` is absent or returns undefined. @throws CliError */
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
  /** Columns of `--csv`. */
  csv?(input: CommandInput): string[];
  /** Formats the response, in place of a table or record. */
  print?(response: Record<string, unknown>): string;
  /** Printed to stderr after success. */
  note?(response: Record<string, unknown>): string | undefined;
  /** Why the command ends with exit code 1 although it was executed; undefined for success. */
  failure?(response: Record<string, unknown>): string | undefined;
};
