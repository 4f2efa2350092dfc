import type { LogFields } from '../lambdas/log-events.ts';
import type { Log } from '../lambdas/support/log.ts';
import { banner } from './banner.ts';
import { type CliOptions, readOptions, USAGE } from './options.ts';
import { readOwnCatalog } from './own-catalog.ts';
import { type LocalRouter, startLocal } from './start.ts';
import { UsageError } from './usage-error.ts';

/** Ctrl-C ends the process within this time even if closing hangs. Milliseconds. */
const CLOSE_LIMIT_MS = 2_000;

const print = (text: string) => process.stdout.write(`${text}\n`);

/** A generation has an outcome, and an error class if it failed; its id is the argument of `requests`. */
const requestLine = ({ method, route, status, ms, ...fields }: LogFields): string =>
  [
    method,
    route ?? '(unknown path)',
    status,
    `${ms} ms`,
    fields.model,
    fields.outcome,
    fields.fault,
    fields.requestId,
  ]
    .filter((part) => part !== undefined)
    .join(' ');

/** A log for a terminal: one short line per request; warnings and errors with all their fields. */
const createTerminalLog = (write: (line: string) => void): Log => {
  const writeFields: Log['warn'] = (event, fields) => write(`${event} ${JSON.stringify(fields)}\n`);
  return {
    info: (event, fields) => {
      if (event === 'request') write(`${requestLine(fields)}\n`);
    },
    warn: writeFields,
    error: writeFields,
  };
};

const isPortInUse = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

/** @throws UsageError if the port is in use, or the user's catalog or secrets are invalid */
const start = async ({ ownFiles, port, delayMs }: CliOptions): Promise<LocalRouter> => {
  const log = createTerminalLog((line) => process.stderr.write(line));
  const files = ownFiles ? await readOwnCatalog(ownFiles) : {};
  try {
    return await startLocal({ ...files, port, delayMs, log });
  } catch (error) {
    if (!isPortInUse(error)) throw error;
    throw new UsageError(
      `Port ${port} is already in use. Choose another: PORT=${port + 1} npm start`,
      { cause: error },
    );
  }
};

const closeOnSignal = (router: LocalRouter) => {
  const close = () => {
    setTimeout(() => process.exit(0), CLOSE_LIMIT_MS).unref();
    router.close().finally(() => process.exit(0));
  };
  // The terminal signals the whole process group and npm forwards the signal: it may arrive twice.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, close);
  }
};

const run = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options.help) {
    print(USAGE);
    return;
  }
  const router = await start(options);
  closeOnSignal(router);
  const { baseUrl, key } = router;
  const models = router.models.map(({ id }) => id);
  print(options.json ? JSON.stringify({ baseUrl, key }) : banner({ baseUrl, key, models }));
};

run().catch((error: unknown) => {
  process.exitCode = 1;
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
});
