/** A value that is computed when it is first asked for. */
export const once = <Value>(compute: () => Value): (() => Value) => {
  let value: Value | undefined;
  return () => {
    value ??= compute();
    return value;
  };
};

/** A function that is built when it is called for the first time: until then its part of the bundle is not loaded. */
export const atFirstCall = <Args extends unknown[], Result>(
  create: () => (...args: Args) => Result,
): ((...args: Args) => Result) => {
  let created: ((...args: Args) => Result) | undefined;
  return (...args) => {
    created ??= create();
    return created(...args);
  };
};
