import { PROGRAM } from '#program';
import { type AdminClient, type AdminRequest, allPages, pagesOf } from './admin-client.ts';
import { CliError, EXIT_CODES } from './cli-error.ts';
import { type Command, type CommandInput, requestOf } from './command.ts';
import { confirm, type Stdin } from './confirm.ts';
import { type Connection, connect, type Env } from './connection.ts';
import { checkOperands, findCommand } from './find-command.ts';
import { follow } from './follow.ts';
import { csvLine, format, isRows } from './format.ts';
import { helpOf } from './help.ts';
import { createProgress } from './progress.ts';
import { readArguments, rejectOtherOptions } from './read-arguments.ts';
import { showLive } from './top.ts';

/** A terminal, a file or a pipe. */
type Output = NodeJS.WritableStream & { isTTY?: boolean };

export type Io = {
  stdin: Stdin;
  stdout: Output;
  stderr: Output;
  env: Env;
};

const USAGE = `Usage: ${PROGRAM.admin} <resource> <verb> [options]

  projects list
  projects create ID [--name TEXT] [--allow-plan ID]... [--max-keys N]
  projects set ID [--name TEXT] [--allow-plan ID]... [--all-plans] [--max-keys N|none]
  projects delete ID       one without usable keys
  webhooks show|delete --project ID
  webhooks set URL --project ID   where the ends of background responses are sent; its secret is shown once
  plans list
  plans create ID --rpm N --quota N --period hour|day|month [--concurrency N] [--model ID]...
               [--replay header|retries|off] [--state off|asked|default]
               [--require region=WORD]... [--require retention=WORD]... [--loops off|warn|stop]
               [--max-wait-ms N] [--priority interactive|batch] [--weight N]
  plans set ID [--rpm N] [--quota N] [--period P] [--concurrency N|none] [--model ID]... [--all-models]
               [--replay header|retries|off] [--state off|asked|default] [--require LABEL=WORD|none]...
               [--loops off|warn|stop] [--max-wait-ms N] [--priority interactive|batch] [--weight N]
  plans delete ID          one that no usable key has
  keys list --project ID [--search TEXT] [--status active|paused|expired|revoked]
  keys show KEY-ID --project ID
  keys find START|KEY-ID   the key that begins so, in any project; of a whole key only its SHA-256 is sent
  keys create --project ID --plan ID [--name TEXT] [--expires WHEN]
              [--rpm N] [--quota N] [--concurrency N] [--model ID]...   limits below the plan's
              [--require region=WORD]... [--require retention=WORD]...   besides those of the plan
  keys set KEY-ID --project ID [--name TEXT] [--rpm N|none] [--quota N|none] [--concurrency N|none]
              [--model ID]... [--all-models] [--require LABEL=WORD|none]...
  keys move KEY-ID --project ID --plan ID
  keys pause KEY-ID --project ID
  keys resume KEY-ID --project ID
  keys rotate KEY-ID --project ID [--overlap none|1h|24h|7d] [--expires WHEN]
  keys revoke KEY-ID --project ID [--reason leaked]   the audit and the alert say so
  budgets list             dollars that requests may cost, what is spent and leased, and a forecast of the period
  budgets show|delete --organisation | --project ID [--key ID | --user ID | --session ID | --users | --sessions]
  budgets set … [--max-usd N] [--period hour|day|month|total] [--pause|--resume]
                           --users, --sessions: of each one of the project without a separate budget
  usage --project ID       the current minute and period of each key
  usage [--since WHEN] [--until WHEN] [--by day|model|key|project|user|session|agent|client|tag:NAME]
        [--project ID] [--key ID] [--csv]
                           the history: requests, tokens, cost; --csv streams an export
  statement PROJECT --month 2026-10
  reconcile [--project ID] bring the history up to date, and compare it with the meters
  reconcile --month 2026-10 --provider anthropic|openai [--upstream NAME] [--secret ID] [--invoice FILE]
                           compare the records with what the provider bills, by day, model and kind
  export --format focus|cloudevents|stripe|openmeter|ndjson --from WHEN [--to WHEN] [--project ID] [--out FILE]
         [--account NAME] [--meter cost|tokens|requests] [--customers FILE] [--limit N]
                           costs for finance tools, usage events for billing: docs/costs.md
  requests ID              what happened to a request, whose fault it was, and what to do
  requests list [--project ID] [--key ID] [--status 5xx|429|failed] [--since WHEN] [--until WHEN] [--limit N]
                [--user ID] [--session ID] [--agent ID] [--client NAME] [--tag NAME=VALUE] [--follow]
                           --follow prints each further request when it ends
  top [--once] [--project ID] [--key ID] [--user ID] [--session ID] [--agent ID] [--client NAME] [--tag NAME=VALUE]
                           a live screen: requests, failures and spend of the last minutes, by model and target
  audit [--since WHEN] [--until WHEN] [--who NAME] [--project ID] [--limit N]
                           who changed what, before and after
  members list [--project ID] [--search TEXT]
                           users of the console of a stack, by the beginning of their addresses
  members invite EMAIL --role operator|viewer|project:ID
  members set EMAIL --role ROLE...      all roles of a member
  members remove EMAIL
  operators invite EMAIL   members invite EMAIL --role operator
  doctor [--no-calls]      check endpoints, clock, quotas, catalog, credentials, tables, and call every target
  targets list             the catalog's targets and the states of their breakers
  targets test [MODEL]     call every target: whole, streamed, with a tool
  calibrate [MODEL] [--since WHEN]
                           how its providers frame a prompt, from what they counted; a block for the catalog
  apply FILE [--force]     create the projects, plans, keys and budgets of a JSON file; --force overwrites plans and budgets

The default verb is list. WHEN is 12h, 90d, a day or a time like 2027-01-31T00:00:00Z; --since and --until
count back from now.

Connection:
  --url URL        URL of the router (default: http://127.0.0.1:8787, that of ${PROGRAM.start})
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
    const { data } = page;
    if (!isRows(data)) continue;
    io.stdout.write(data.map((row) => csvLine(columns.map((column) => row[column]))).join(''));
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
    io.stdout.write(`${USAGE}\n`);
    return;
  }
  const { command, operands } = findCommand(words);
  if (options.help) {
    io.stdout.write(`${helpOf(command)}\n`);
    return;
  }
  checkOperands(command, operands);
  rejectOtherOptions(options, command.options ?? []);
  const progress = createProgress(io.stderr);
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

/** Asks, and prints the response. @throws CliError */
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
