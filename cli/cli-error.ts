import { PROGRAM } from '#program';

export const EXIT_CODES = {
  0: 'success',
  1: 'rejected or failed (also a check of doctor)',
  2: 'invalid command (no request sent)',
};
export type ExitCode = Exclude<keyof typeof EXIT_CODES, 0>;

/** Ends the command: `endWith` prints the message without a stack trace and sets the exit code. */
export class CliError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** Ends the process of a command that failed. @throws any error but a CliError */
export const endWith = (error: unknown): void => {
  if (!(error instanceof CliError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
};

/** Returns an error for an invalid command line: exit code 2, with a pointer to --help. */
export const usageError = (message: string, options: { cause?: unknown } = {}): CliError =>
  new CliError(2, `${message}\nRun ${PROGRAM.admin} --help for the list of commands.`, options);

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
