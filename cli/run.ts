import { type AdminClient, createAdminClient } from './admin-client.ts';
import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { confirm } from './confirm.ts';
import { type Options, readArguments, refuseOthers } from './read-arguments.ts';

export type Io = {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

const USAGE = `Usage: npm run admin -- <resource> <verb> [options]

  projects list
  projects create ID [--name TEXT]
  plans list
  plans create ID --rpm N --quota N --period hour|day|month [--model ID]...
  plans set ID [--rpm N] [--quota N] [--period P] [--model ID]... [--all-models]
  keys list --project ID
  keys create --project ID --plan ID [--name TEXT] [--expires WHEN]
  keys rotate KEY-ID --project ID [--overlap none|1h|24h|7d] [--expires WHEN]
  keys revoke KEY-ID --project ID
  usage list --project ID
  apply FILE               create or change the projects and plans of a JSON file

A verb that is left out is list. WHEN is 12h, 90d or a time like 2027-01-31T00:00:00Z.

Where:
  --url URL        the router's address (default: http://127.0.0.1:8787, as npm start has it)
  --stack NAME     a deployed stack, e.g. model-router-prod; its REST API is looked up
  --region NAME, --profile NAME   for AWS, beside the usual variables and files
Requests are signed with your AWS credentials, except to a loopback address given by --url.

How:
  --json           print the answer as JSON
  --yes            do not ask before a key stops working at once
  --help           print this

Exit codes: 0 done, 1 refused or failed, 2 wrong command, nothing was sent.`;

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

/** A row as the service answers it. */
type Row = Record<string, unknown>;

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.join(', ');
  return String(value);
};

const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';

/** Columns as wide as their widest cell; numbers to the right, so that they compare at a glance. */
const formatTable = (columns: string[], rows: Row[]): string => {
  if (rows.length === 0) return '(none)';
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => textOf(row[column]).length)),
  );
  const toTheRight = columns.map((column) => rows.every((row) => isNumber(row[column])));
  const line = (cells: string[]): string =>
    cells
      .map((cell, at) =>
        toTheRight[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const header = columns.map((column) => column.toUpperCase().replaceAll('_', ' '));
  return [header, ...rows.map((row) => columns.map((column) => textOf(row[column])))]
    .map(line)
    .join('\n');
};

/** One record, a field a line. */
const formatRecord = (record: Row): string => {
  const fields = Object.entries(record);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(width)}  ${textOf(value)}`)
    .join('\n');
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
