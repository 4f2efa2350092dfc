import { ApiError } from '../../lambdas/support/errors.ts';

/** The error that `call` rejects with, typed by its test. @throws when `call` resolves */
export const rejection = <E = unknown>(call: Promise<unknown>): Promise<E> =>
  call.then(
    () => {
      throw new Error('the call was expected to fail');
    },
    (error: E) => error,
  );

export type CaughtError = {
  status: number;
  type: string;
  message: string;
  headers: Record<string, string>;
  /** Message of the private cause. */
  cause: string | undefined;
};

/** The ApiError that `verb` throws, as plain data: matchers skip the message and the cause of an Error. */
export const errorOf = async (verb: () => unknown): Promise<CaughtError> => {
  const error = await rejection((async () => verb())());
  if (!(error instanceof ApiError)) throw error;
  const { status, type, message, headers, cause } = error;
  const causeMessage = cause instanceof Error ? cause.message : undefined;
  return { status, type, message, headers, cause: causeMessage };
};
