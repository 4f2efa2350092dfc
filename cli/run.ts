import { createInterface } from 'node:readline/promises';
import { PROGRAM } from '#program';
import { type AdminClient, type AdminRequest, allPages, pagesOf } from './admin-client.ts';
import { CliError, EXIT_CODES, usageError } from './cli-error.ts';
import { type Command, type CommandInput, requestOf } from './command.ts';
import { COMMANDS } from './commands.ts';
import { type Connection, connect, type Env } from './connection.ts';
import { follow } from './follow.ts';
import { csvLine, format, rowsIn } from './format.ts';
import { helpOf, listOfCommands } from './help.ts';
import { createProgress } from './progress.ts';
import { readArguments, rejectOtherOptions } from './read-arguments.ts';
import { showLive } from './top.ts';

export type Stdin = NodeJS.ReadableStream & { isTTY?: boolean };

/**
 * Asks for confirmation on the terminal.
 * @throws CliError 2 without a terminal, or unless the answer is yes
 */
export const confirm = async (
  question: string,
  { input, output }: { input: Stdin; output: NodeJS.WritableStream },
): Promise<void> => {
  if (!input.isTTY) {
    throw new CliError(
      2,
      `Nothing was changed: confirmation needed, and stdin is not a terminal. With --yes: ${question}`,
    );
  }
  const terminal = createInterface({ input, output });
  try {
    const answer = await terminal.question(`${question} Type yes to continue: `);
    if (answer.trim().toLowerCase() === 'yes') return;
  } finally {
    terminal.close();
  }
  throw new CliError(2, 'Nothing was changed.');
};

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
const checkOperands = ({ operands: named = {} }: Command, operands: string[]): void => {
  const names = Object.values(named);
  const missing = names.slice(operands.length).filter((name) => !name.startsWith('['));
  if (missing.length > 0) throw usageError(`Missing argument: ${missing.join(', ')}`);
  const surplus = operands.slice(names.length);
  if (surplus.length > 0) throw usageError(`Unexpected argument: ${surplus.join(' ')}`);
};

type Output = NodeJS.WritableStream & { isTTY?: boolean };

export type Io = {
  stdin: Stdin;
  stdout: Output;
  stderr: Output;
  env: Env;
  /** Milliseconds that have passed, by which progress is shown. @default those of the process */
  elapsed?: () => number;
};

const usage = (): string => `Usage: ${PROGRAM.admin} <resource> <verb> [options]

${listOfCommands()}

The default verb is list. WHEN is 12h, 90d, a day or a time like 2027-01-31T00:00:00Z; --since and --until
count back from now.

Connection:
  --url URL        URL of the router (default: http://127.0.0.1:8787, that of ${PROGRAM.router})
  --stack NAME     a deployed stack, e.g. model-router-prod; the URL is read from its outputs
  --region NAME, --profile NAME   override the AWS variables and configuration files
Requests are signed with your AWS credentials, except to a loopback address. With MODEL_ROUTER_ADMIN_SECRET in the
environment they carry that secret instead, as a router started with --host requires.

Output and confirmation:
  --json           print the response as JSON
  --yes            do not ask for confirmation before a key stops working
  --help           print this text; after a command its arguments and an example

Exit codes: ${Object.entries(EXIT_CODES)
  .map(([code, meaning]) => `${code} ${meaning}`)
  .join(', ')}.`;

/** Writes each page when it arrives: an export of any size needs the memory of one. */
const exportCsv = async (client: AdminClient, request: AdminRequest, columns: string[], io: Io) => {
  io.stdout.write(csvLine(columns));
  let last: Record<string, unknown> = {};
  for await (const page of pagesOf(client, request)) {
    last = page;
    const lines = rowsIn(page.data).map((row) => csvLine(columns.map((column) => row[column])));
    io.stdout.write(lines.join(''));
  }
  return last;
};

const ask = ({ isPaged }: Command, request: AdminRequest, client: AdminClient) =>
  isPaged ? allPages(client, request) : client(request);

const perform = async (command: Command, input: CommandInput, connection: Connection) => {
  if (!command.perform) throw new Error('The command has no request.');
  return command.perform(input, connection);
};

/** Runs one command line: result to stdout, notes and questions to stderr. @throws CliError */
export const run = async (args: string[], now: number, io: Io): Promise<void> => {
  const { words, options } = readArguments(args);
  if (words.length === 0) {
    io.stdout.write(`${usage()}\n`);
    return;
  }
  const { command, operands } = findCommand(words);
  if (options.help) {
    io.stdout.write(`${helpOf(command)}\n`);
    return;
  }
  checkOperands(command, operands);
  rejectOtherOptions(options, command.options ?? []);
  const progress = createProgress(io.stderr, io.elapsed);
  const input = { operands, options, now, env: io.env, expect: progress.expect };
  const request = await requestOf(command, input);
  const question = command.question?.(input);
  if (question !== undefined && !options.yes) {
    await confirm(question, { input: io.stdin, output: io.stderr });
  }
  const connection = await connect(options, io.env);
  if (options.follow) return follow(command, input, connection.send, io.stdout);
  const isScreen = io.stdout.isTTY && !options.once && !options.json;
  if (command.isLive && isScreen) {
    const read = async () => format(command, input, await perform(command, input, connection));
    return showLive(read, io.stdout);
  }
  const send = progress.watch(connection.send);
  try {
    await answer(command, input, { connection: { ...connection, send }, request, io });
  } finally {
    progress.end();
  }
};

type Asked = { connection: Connection; request: AdminRequest | undefined; io: Io };

const answer = async (
  command: Command,
  input: CommandInput,
  { connection, request, io }: Asked,
): Promise<void> => {
  const { options } = input;
  const csv = options.csv ? command.csv?.(input) : undefined;
  if (csv && request) {
    const last = await exportCsv(connection.send, request, csv, io);
    const note = command.note?.(last);
    if (note !== undefined) io.stderr.write(`${note}\n`);
    return;
  }
  const response = request
    ? await ask(command, request, connection.send)
    : await perform(command, input, connection);
  io.stdout.write(
    `${options.json ? JSON.stringify(response, null, 2) : format(command, input, response)}\n`,
  );
  const note = command.note?.(response);
  if (note !== undefined) io.stderr.write(`${note}\n`);
  const failure = command.failure?.(response);
  if (failure !== undefined) throw new CliError(1, failure);
};
