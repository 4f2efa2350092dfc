import { banner } from './banner.ts';
import { type CliOptions, readOptions, USAGE } from './options.ts';
import { readOwnCatalog } from './own-catalog.ts';
import { createRequestLines } from './request-lines.ts';
import { type LocalRouter, startLocal } from './start.ts';
import { UsageError } from './usage-error.ts';

/** Ctrl-C is answered within this time even if something hangs. Milliseconds. */
const CLOSE_LIMIT_MS = 2_000;

const print = (text: string) => process.stdout.write(`${text}\n`);

const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

const start = async ({ own, port, delayMs }: CliOptions): Promise<LocalRouter> => {
  const log = createRequestLines((line) => process.stderr.write(line));
  const files = own ? await readOwnCatalog(own) : {};
  try {
    return await startLocal({ ...files, port, delayMs, log });
  } catch (error) {
    if (!isTaken(error)) throw error;
    throw new UsageError(`Port ${port} is taken. Choose another: PORT=${port + 1} npm start`, {
      cause: error,
    });
  }
};

const endOnSignal = (router: LocalRouter) => {
  const end = () => {
    setTimeout(() => process.exit(0), CLOSE_LIMIT_MS).unref();
    router.close().finally(() => process.exit(0));
  };
  // npm passes on the signal that the terminal has sent already, so it may come twice.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, end);
  }
};

const run = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options.help) {
    print(USAGE);
    return;
  }
  const router = await start(options);
  endOnSignal(router);
  const { baseUrl, key } = router;
  const models = router.models.map(({ id }) => id);
  print(options.json ? JSON.stringify({ baseUrl, key }) : banner({ baseUrl, key, models }));
};

run().catch((error: unknown) => {
  process.exitCode = 1;
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
});
