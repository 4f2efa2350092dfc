/** The user can put it right; its message says how and needs no stack. */
export class UsageError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'UsageError';
  }
}
