/** An error that the user can fix. Only its message is printed, without a stack. */
export class UsageError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'UsageError';
  }
}
