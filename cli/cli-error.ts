/** 1: the service refused or failed; 2: the command was wrong, and nothing was sent. */
export type ExitCode = 1 | 2;

/** Ends the command with one clear message and no stack. */
export class CliError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

export const usageError = (message: string, options: { cause?: unknown } = {}): CliError =>
  new CliError(2, `${message}\nnpm run admin -- --help lists the commands.`, options);

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
