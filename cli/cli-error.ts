import { PROGRAM } from '#program';

/** 1: the service rejected the request or failed; 2: invalid command, no request was sent. */
export type ExitCode = 1 | 2;

/** Ends the command: main.ts prints the message without a stack trace and sets the exit code. */
export class CliError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** Returns an error for an invalid command line: exit code 2, with a pointer to --help. */
export const usageError = (message: string, options: { cause?: unknown } = {}): CliError =>
  new CliError(2, `${message}\nRun ${PROGRAM.admin} --help for the list of commands.`, options);

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
