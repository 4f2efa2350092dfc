import { CliError } from './cli-error.ts';
import { run } from './run.ts';

run(process.argv.slice(2), Date.now(), process).catch((error: unknown) => {
  if (!(error instanceof CliError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
