/** The only source of time outside the entries, so that tests control it. See `systemClock`. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Runs `action` once after `ms`; the returned function cancels it. */
  after(ms: number, action: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`. */
export const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });

/** Resolves to the value, or undefined on timeout. The promise keeps running. @throws its rejection */
export const withTimeout = <Value>(
  clock: Clock,
  ms: number,
  promise: Promise<Value>,
): Promise<{ value: Value } | undefined> =>
  // One promise instead of the five of `Promise.race`: each batch of a stream waits here.
  new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(undefined));
    promise.then(
      (value) => {
        cancel();
        resolve({ value });
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
