import { PROGRAM } from '#program';
import { checkPlans } from '../lambdas/admin/doctor.ts';
import { DEFAULT_RUNBOOK_URL } from '../lambdas/env.ts';
import type { LogFields } from '../lambdas/log-events.ts';
import { systemClock, withTimeout } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import { allocateYoung } from '../lambdas/web/heap.ts';
import { banner } from './banner.ts';
import { openFolder } from './database/folder.ts';
import { DatabaseError } from './database/item-database.ts';
import { createMemoryDatabase } from './database/memory.ts';
import { exportRecords } from './export-records.ts';
import { openStores } from './local-stores.ts';
import { type CliOptions, readOptions, USAGE } from './options.ts';
import { readOwnCatalog } from './own-catalog.ts';
import { openAlerts } from './send-alerts.ts';
import { type LocalRouter, startLocal } from './start.ts';
import { UsageError } from './usage-error.ts';

/** Ctrl-C ends the process within this time even if closing hangs. Milliseconds. */
const CLOSE_LIMIT_MS = 2_000;
/** SIGTERM lets streams go on for so long; orchestrators send SIGKILL after 30 s. Milliseconds. */
const DRAIN_LIMIT_MS = 25_000;

const print = (text: string) => process.stdout.write(`${text}\n`);
const printError = (text: string) => process.stderr.write(`${text}\n`);

/** Lines of one turn of the event loop are one write: on a pipe each takes 25 us of CPU. */
const printAtOnce = (text: string) => {
  const { stderr } = process;
  if (stderr.writableCorked === 0) {
    stderr.cork();
    setImmediate(() => stderr.uncork());
  }
  printError(text);
};

/** A generation has an outcome, and an error class if it failed; its id is the argument of `requests`. */
const requestLine = (fields: LogFields): string =>
  [
    fields.method,
    fields.route ?? '(unknown path)',
    fields.status,
    `${fields.ms} ms`,
    fields.model,
    fields.outcome,
    fields.fault,
    fields.requestId,
  ]
    .filter((part) => part !== undefined)
    .join(' ');

/** A log for a terminal: one short line per request; warnings and errors with all their fields. */
const createTerminalLog = (): Log => {
  const writeFields: Log['warn'] = (event, fields) =>
    printError(`${event} ${JSON.stringify(fields)}`);
  return {
    info: (event, fields) => {
      if (event === 'request') printAtOnce(requestLine(fields));
    },
    warn: writeFields,
    error: writeFields,
  };
};

/** Prints a message of the database once until another one comes. */
const createOnFailure = () => {
  let last: string | undefined;
  return (message: string) => {
    if (message !== last) printError(message);
    last = message;
  };
};
const onFailure = createOnFailure();

const isOfListening = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'syscall' in error &&
  /^(?:listen|getaddrinfo)$/.test(`${error.syscall}`);

/** @throws UsageError if the port is in use or the address is not this machine's, or the user's catalog or secrets are invalid; DatabaseError */
const start = async (options: CliOptions): Promise<LocalRouter> => {
  const { ownFiles, host, port, delayMs, adminSecret, data, otlp, receivers, mayReachInner } =
    options;
  const terminal = createTerminalLog();
  const files = ownFiles && (await readOwnCatalog(ownFiles));
  const database = data ? await openFolder({ folder: data, onFailure }) : createMemoryDatabase();
  const opened = openStores(systemClock, database);
  const alerts =
    receivers.length > 0
      ? await openAlerts({
          ...{ database, receivers, clock: systemClock, onFailure },
          ...{ models: files?.catalog ?? [], runbookUrl: DEFAULT_RUNBOOK_URL },
        })
      : undefined;
  const log = alerts ? alerts.watch(terminal) : terminal;
  const collector = otlp && { ...otlp, models: files?.catalog, version: PROGRAM.version };
  const stores = collector
    ? await exportRecords(opened, { database, collector, clock: systemClock, log, onFailure })
    : opened;
  try {
    const own = { host, port, adminSecret, delayMs, mayReachInner, log };
    const closing = {
      ...stores,
      close: async () => {
        await alerts?.close();
        await stores.close();
      },
    };
    const router = await startLocal({ ...files, stores: closing, ...own, state: 'default' });
    const checks = await checkPlans({ models: router.models, ...stores.parts });
    // Of a plan that names what another catalog had.
    for (const { result, place, reason } of checks) {
      if (result === 'failed') printError(`${place} ${reason}`);
    }
    return router;
  } catch (error) {
    if (!isOfListening(error)) throw error;
    const next = `Choose another: ${PROGRAM.start} --port ${port + 1}`;
    const isUsed = error.code === 'EADDRINUSE';
    const reason = isUsed ? `Port ${port} is already in use. ${next}` : `${error.message}.`;
    throw new UsageError(reason, { cause: error });
  }
};

const closeOnSignal = (router: LocalRouter) => {
  const close = () => {
    setTimeout(() => process.exit(0), CLOSE_LIMIT_MS).unref();
    router.close().finally(() => process.exit(0));
  };
  // The terminal signals the whole process group and npm forwards the signal: both may arrive twice.
  process.on('SIGINT', close);
  process.once('SIGTERM', () => {
    process.on('SIGTERM', () => undefined);
    withTimeout(systemClock, DRAIN_LIMIT_MS, router.drain()).finally(close);
  });
};

const run = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options.help || options.version) {
    print(options.help ? USAGE : PROGRAM.version);
    return;
  }
  const router = await start(options);
  allocateYoung();
  closeOnSignal(router);
  const { baseUrl, key } = router;
  print(options.json ? JSON.stringify({ baseUrl, key }) : banner(router));
};

run().catch((error: unknown) => {
  process.exitCode = 1;
  if (!(error instanceof UsageError || error instanceof DatabaseError)) throw error;
  onFailure(error.message);
  // What the start had opened before it failed, such as the embedded upstream, keeps the process.
  process.exit();
});
