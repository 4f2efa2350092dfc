import type { AdminRequest } from './admin-client.ts';
import type { OptionName, Options } from './read-arguments.ts';

export type CommandInput = {
  /** What stands after resource and verb; as many as `operands` names. */
  operands: string[];
  options: Options;
  /** Milliseconds since the epoch. */
  now: number;
};

/** A command is data: what it takes, what it asks for, and how its answer is shown. */
export type Command = {
  /** Names of the operands, e.g. `ID`. */
  operands: string[];
  options: OptionName[];
  /** @throws CliError 2 when the input cannot be a request. */
  request(input: CommandInput): AdminRequest | Promise<AdminRequest>;
  /** What is asked before anything is sent; undefined when there is nothing to lose. */
  question?(input: CommandInput): string | undefined;
  /** Members of the answer that are lists, and their columns; a record unless given. */
  lists?: Record<string, string[]>;
  /** Told on stderr after success. */
  note?(answer: Record<string, unknown>): string | undefined;
};
