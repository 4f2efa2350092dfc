import type { Clock } from './clock.ts';

/** Resolves to the value, or undefined on timeout. The promise keeps running. @throws its rejection */
export const withTimeout = async <Value>(
  clock: Clock,
  ms: number,
  promise: Promise<Value>,
): Promise<{ value: Value } | undefined> => {
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise.then((value) => ({ value })), late]);
  } finally {
    cancel();
  }
};
