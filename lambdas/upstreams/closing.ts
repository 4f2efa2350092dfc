/**
 * The same generator, with `close` run when it is returned early. A generator's own `finally` does not
 * run when it was never started, and waits behind a pending `next`; a socket must not.
 */
export const closing = <T>(
  generator: AsyncGenerator<T, void, void>,
  close: () => void,
): AsyncGenerator<T, void, void> => {
  const end = () => {
    close();
    return generator.return();
  };
  return {
    next: () => generator.next(),
    return: end,
    throw: (error) => {
      close();
      return generator.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: async () => {
      await end();
    },
  };
};
