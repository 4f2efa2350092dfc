import { ApiError } from '../../lambdas/support/errors.ts';

export type CaughtError = {
  status: number;
  type: string;
  message: string;
  headers: Record<string, string>;
  /** Message of the private cause. */
  cause: string | undefined;
};

/** What a verb was refused with, as plain data: matchers skip the message and the cause of an Error object. */
export const errorOf = async (verb: () => unknown): Promise<CaughtError> => {
  try {
    await verb();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, headers, cause } = error;
    return {
      status,
      type,
      message,
      headers,
      cause: cause instanceof Error ? cause.message : undefined,
    };
  }
  throw new Error('It was not refused.');
};
