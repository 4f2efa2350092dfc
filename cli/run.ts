import { type AdminClient, createAdminClient } from './admin-client.ts';
import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { confirm } from './confirm.ts';
import { type Options, readArguments, rejectOtherOptions } from './read-arguments.ts';

export type Io = {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

const USAGE = `Usage: npm run admin -- <resource> <verb> [options]

  projects list
  projects create ID [--name TEXT]
  plans list
  plans create ID --rpm N --quota N --period hour|day|month [--concurrency N] [--model ID]...
               [--replay header|retries|off]
  plans set ID [--rpm N] [--quota N] [--period P] [--concurrency N|none] [--model ID]... [--all-models]
               [--replay header|retries|off]
  keys list --project ID
  keys create --project ID --plan ID [--name TEXT] [--expires WHEN]
  keys rotate KEY-ID --project ID [--overlap none|1h|24h|7d] [--expires WHEN]
  keys revoke KEY-ID --project ID
  usage list --project ID
  apply FILE [--force]     create the projects and plans of a JSON file; --force overwrites plans

The default verb is list. WHEN is 12h, 90d or a time like 2027-01-31T00:00:00Z.

Connection:
  --url URL        URL of the router (default: http://127.0.0.1:8787, the address of npm start)
  --stack NAME     a deployed stack, e.g. model-router-prod; the URL is read from its outputs
  --region NAME, --profile NAME   override the AWS variables and configuration files
Requests are signed with your AWS credentials, except to a loopback address.

Output and confirmation:
  --json           print the response as JSON
  --yes            do not ask for confirmation before a key stops working
  --help           print this text

Exit codes: 0 success, 1 rejected or failed, 2 invalid command (no request sent).`;

const LOCAL_URL = 'http://127.0.0.1:8787';
const START_HINT = '\nIs `npm start` running? Use --url or --stack to connect elsewhere.';
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;

const findCommand = (words: string[]): { command: Command; operands: string[] } => {
  const [resource = '', verb] = words;
  const single = COMMANDS[resource];
  if (single) return { command: single, operands: words.slice(1) };
  const command = COMMANDS[`${resource} ${verb ?? 'list'}`];
  if (command) return { command, operands: words.slice(2) };
  throw usageError(`Unknown command '${words.join(' ')}'.`);
};

const checkOperands = ({ operands: names }: Command, operands: string[]): void => {
  const missing = names.slice(operands.length);
  if (missing.length > 0) throw usageError(`Missing argument: ${missing.join(', ')}`);
  const surplus = operands.slice(names.length);
  if (surplus.length > 0) throw usageError(`Unexpected argument: ${surplus.join(' ')}`);
};

const connect = async ({ url, stack, region, profile }: Options): Promise<AdminClient> => {
  if (url !== undefined && stack !== undefined) {
    throw usageError('--url and --stack are mutually exclusive.');
  }
  const baseUrl = url ?? LOCAL_URL;
  if (!URL.canParse(baseUrl)) throw usageError(`--url must be a URL (got '${baseUrl}').`);
  if (stack === undefined && LOOPBACK.test(new URL(baseUrl).hostname)) {
    return createAdminClient({ baseUrl, ...(url === undefined && { hint: START_HINT }) });
  }
  // Loading the AWS SDK takes 0.5 s and a local router does not need it.
  const { createAwsClient, createSigner, findRestApi } = await import('./deployed-stack.ts');
  const client = createAwsClient({ region, profile });
  const sign = createSigner(client);
  if (stack === undefined) return createAdminClient({ baseUrl, sign });
  return createAdminClient({ baseUrl: await findRestApi(client, stack), sign });
};

/** A row of a response. */
type Row = Record<string, unknown>;

const plainText = (value: unknown): string => {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.join(', ');
  return String(value);
};

/** What forges rows, colours or another writing direction in a terminal; a stored name may contain it. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

const textOf = (value: unknown): string => plainText(value).replace(UNPRINTABLE, '\uFFFD');

const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';

/** Formats rows as a table; number columns are right-aligned. */
const formatTable = (columns: string[], rows: Row[]): string => {
  if (rows.length === 0) return '(none)';
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => textOf(row[column]).length)),
  );
  const rightAligned = columns.map((column) => rows.every((row) => isNumber(row[column])));
  const line = (cells: string[]): string =>
    cells
      .map((cell, index) =>
        rightAligned[index] ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const header = columns.map((column) => column.toUpperCase().replaceAll('_', ' '));
  return [header, ...rows.map((row) => columns.map((column) => textOf(row[column])))]
    .map(line)
    .join('\n');
};

/** Formats a record, one field per line. */
const formatRecord = (record: Row): string => {
  const fields = Object.entries(record);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(width)}  ${textOf(value)}`)
    .join('\n');
};

const isRows = (value: unknown): value is Row[] => Array.isArray(value);

const format = ({ lists }: Command, response: Row): string => {
  if (!lists) return formatRecord(response);
  const sections = Object.entries(lists).map(([member, columns]) => {
    const rows = response[member];
    const table = formatTable(columns, isRows(rows) ? rows : []);
    return Object.keys(lists).length === 1 ? table : `${member}\n${table}`;
  });
  return sections.join('\n\n');
};

/** Runs one command line: result to stdout, notes and questions to stderr. @throws CliError */
export const run = async (args: string[], now: number, io: Io): Promise<void> => {
  const { words, options } = readArguments(args);
  if (options.help || words.length === 0) {
    io.stdout.write(`${USAGE}\n`);
    return;
  }
  const { command, operands } = findCommand(words);
  checkOperands(command, operands);
  rejectOtherOptions(options, command.options);
  const input = { operands, options, now };
  const request = await command.request(input);
  const question = command.question?.(input);
  if (question !== undefined && !options.yes) {
    await confirm(question, { input: io.stdin, output: io.stderr });
  }
  const response = await (await connect(options))(request);
  io.stdout.write(
    `${options.json ? JSON.stringify(response, null, 2) : format(command, response)}\n`,
  );
  const note = command.note?.(response);
  if (note !== undefined) io.stderr.write(`${note}\n`);
};
