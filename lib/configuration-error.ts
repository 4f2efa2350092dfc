/**
 * Invalid configuration from the operator. bin/router.ts prints the message without a stack trace.
 */
export class ConfigurationError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}
