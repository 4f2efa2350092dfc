/** The error that `call` rejects with, typed by its test. @throws when `call` resolves */
export const rejection = <E = unknown>(call: Promise<unknown>): Promise<E> =>
  call.then(
    () => {
      throw new Error('the call was expected to fail');
    },
    (error: E) => error,
  );
