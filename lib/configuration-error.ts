/** What the operator has to correct: told by its message alone, without a stack. */
export class ConfigurationError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}
