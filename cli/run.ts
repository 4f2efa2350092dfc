import { type AdminClient, createAdminClient } from './admin-client.ts';
import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { confirm } from './confirm.ts';
import { type Options, readArguments, refuseOthers } from './read-arguments.ts';
import { formatRecord, formatTable, type Row } from './table.ts';
import { USAGE } from './usage-text.ts';

export type Io = {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

const LOCAL_URL = 'http://127.0.0.1:8787';
const NOBODY_THERE = '\nIs `npm start` running? --url or --stack say where else to look.';
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;

const findCommand = (words: string[]): { command: Command; operands: string[] } => {
  const [resource = '', verb] = words;
  const single = COMMANDS[resource];
  if (single) return { command: single, operands: words.slice(1) };
  const command = COMMANDS[`${resource} ${verb ?? 'list'}`];
  if (command) return { command, operands: words.slice(2) };
  throw usageError(`There is no command '${words.join(' ')}'.`);
};

const checkOperands = ({ operands: wanted }: Command, operands: string[]): void => {
  const missing = wanted.slice(operands.length);
  if (missing.length > 0) throw usageError(`${missing.join(', ')} is missing.`);
  const surplus = operands.slice(wanted.length);
  if (surplus.length > 0) throw usageError(`'${surplus.join(' ')}' is too much.`);
};

const connect = async ({ url, stack, region, profile }: Options): Promise<AdminClient> => {
  if (url !== undefined && stack !== undefined) {
    throw usageError('--url and --stack exclude each other.');
  }
  const baseUrl = url ?? LOCAL_URL;
  if (!URL.canParse(baseUrl)) throw usageError(`--url is '${baseUrl}', which is no address.`);
  if (stack === undefined && LOOPBACK.test(new URL(baseUrl).hostname)) {
    return createAdminClient({ baseUrl, ...(url === undefined && { hint: NOBODY_THERE }) });
  }
  // Half a second of AWS SDK, which a local router has no use for.
  const { createAwsClient, createSigner, findRestApi } = await import('./deployed-stack.ts');
  const client = createAwsClient({ region, profile });
  const sign = createSigner(client);
  if (stack === undefined) return createAdminClient({ baseUrl, sign });
  return createAdminClient({ baseUrl: await findRestApi(client, stack), sign });
};

const isRows = (value: unknown): value is Row[] => Array.isArray(value);

const format = ({ lists }: Command, answer: Row): string => {
  if (!lists) return formatRecord(answer);
  const shown = Object.entries(lists).map(([member, columns]) => {
    const rows = answer[member];
    const table = formatTable(columns, isRows(rows) ? rows : []);
    return Object.keys(lists).length === 1 ? table : `${member}\n${table}`;
  });
  return shown.join('\n\n');
};

/** Runs one command line. @throws CliError */
export const run = async (args: string[], now: number, io: Io): Promise<void> => {
  const { words, options } = readArguments(args);
  if (options.help || words.length === 0) {
    io.stdout.write(`${USAGE}\n`);
    return;
  }
  const { command, operands } = findCommand(words);
  checkOperands(command, operands);
  refuseOthers(options, command.options);
  const input = { operands, options, now };
  const request = await command.request(input);
  const question = command.question?.(input);
  if (question !== undefined && !options.yes) {
    await confirm(question, { input: io.stdin, output: io.stderr });
  }
  const answer = await (await connect(options))(request);
  io.stdout.write(`${options.json ? JSON.stringify(answer, null, 2) : format(command, answer)}\n`);
  const note = command.note?.(answer);
  if (note !== undefined) io.stderr.write(`${note}\n`);
};
