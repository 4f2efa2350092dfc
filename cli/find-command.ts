import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';

/** The command that the words begin with, and the words after it. @throws CliError 2 */
export const findCommand = (words: string[]): { command: Command; operands: string[] } => {
  const [resource = '', verb] = words;
  const single = COMMANDS[resource];
  if (single) return { command: single, operands: words.slice(1) };
  const command = COMMANDS[`${resource} ${verb ?? 'list'}`];
  if (command) return { command, operands: words.slice(2) };
  const shown = COMMANDS[`${resource} show`];
  if (shown && words.length === 2) return { command: shown, operands: words.slice(1) };
  throw usageError(`Unknown command '${words.join(' ')}'.`);
};

/** @throws CliError 2 if one is missing, or one too many */
export const checkOperands = ({ operands: named = {} }: Command, operands: string[]): void => {
  const names = Object.values(named);
  const missing = names.slice(operands.length).filter((name) => !name.startsWith('['));
  if (missing.length > 0) throw usageError(`Missing argument: ${missing.join(', ')}`);
  const surplus = operands.slice(names.length);
  if (surplus.length > 0) throw usageError(`Unexpected argument: ${surplus.join(' ')}`);
};
