import { messageOf } from '../cli/cli-error.ts';

/** An error that the user can fix. Only its message is printed, without a stack. */
export class UsageError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'UsageError';
  }
}

/** Runs what fails by what the user gave. @throws UsageError with what `textOf` makes of the message */
export const fixable = <Value>(
  run: () => Value,
  textOf: (message: string) => string = (message) => message,
): Value => {
  try {
    return run();
  } catch (cause) {
    throw new UsageError(textOf(messageOf(cause)), { cause });
  }
};
