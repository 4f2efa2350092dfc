import { setTimeout as pause } from 'node:timers/promises';
import type { AdminClient } from './admin-client.ts';
import { type Command, type CommandInput, requestOf } from './command.ts';
import { type Row, rowsIn, textOf } from './format.ts';

const PAUSE_MS = 1_000;
/** A request is listed from its start on, but only once it has ended: the longest lasts 15 minutes. */
const WINDOW_MS = 16 * 60_000;
const LIMIT = 200;

/** The rows of the last minutes, the oldest first. */
const readWindow = async (command: Command, input: CommandInput, send: AdminClient) => {
  const since = new Date(Date.now() - WINDOW_MS).toISOString();
  const options = { ...input.options, since, limit: String(LIMIT) };
  const request = await requestOf(command, { ...input, options });
  const { data } = request ? await send(request) : { data: [] };
  return rowsIn(data).toReversed();
};

/**
 * Prints each row that a list gets from now on, as a line of its columns, or of JSON with `--json`; ends with the process.
 * @throws CliError if the router does not answer
 */
export const follow = async (
  command: Command,
  input: CommandInput,
  send: AdminClient,
  output: NodeJS.WritableStream,
): Promise<never> => {
  const lists = typeof command.lists === 'function' ? command.lists(input) : command.lists;
  const print = input.options.json
    ? (row: Row) => JSON.stringify(row)
    : (row: Row) => (lists?.data ?? []).map((column) => textOf(row[column])).join('  ');
  /** Rows of the last window, so that a list of days needs the memory of minutes. */
  let seen = new Set((await readWindow(command, input, send)).map(({ id }) => id));
  for (;;) {
    await pause(PAUSE_MS);
    const rows = await readWindow(command, input, send);
    for (const row of rows) if (!seen.has(row.id)) output.write(`${print(row)}\n`);
    // A full page hides earlier ones, which were seen.
    seen = new Set([...(rows.length < LIMIT ? [] : seen), ...rows.map(({ id }) => id)]);
  }
};
