import type { Clock } from './clock.ts';

/** What the promise resolves to, or undefined once `ms` have passed; it goes on then. @throws what it throws */
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
