/** Milliseconds on a clock that nothing sets back. `performance` would load modules at the first request. */
const monotonicNow = (): number => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1_000 + nanos / 1_000_000;
};

type Timer = {
  at: number;
  /** Undefined once it has run or was cancelled. */
  action: (() => void) | undefined;
  /** Its place among those that are pending. */
  index: number;
};

/**
 * An alarm that rings this late, in ms, finds a process that was frozen or blocked. Timers measure the time in which the
 * process runs: otherwise a timeout and those behind it would end calls whose packets it had no time to read.
 */
const FROZEN_MS = 500;

/**
 * Timers like `setTimeout`, behind a single one of Node's. A request sets about ten, of which nearly all are cancelled
 * within milliseconds: Node's own took 3 % of the CPU of a small one. Here a timer that is cancelled leaves the alarm
 * as it is, so that it is set about once a second, and may ring for nothing.
 */
export const createTimers = (now = monotonicNow, setAlarm = setTimeout) => {
  const pending: Timer[] = [];
  let alarm: NodeJS.Timeout | undefined;
  let alarmAt = Number.POSITIVE_INFINITY;

  /** Takes the action out, so that what it holds is free; the last timer moves to the place of this one. */
  const take = (timer: Timer): (() => void) | undefined => {
    const { action } = timer;
    const last = action && pending.pop();
    if (!last) return undefined;
    timer.action = undefined;
    if (last !== timer) {
      last.index = timer.index;
      pending[timer.index] = last;
    }
    // Only what is pending keeps the process alive.
    if (pending.length === 0) alarm?.unref();
    return action;
  };

  const arm = ({ at }: Timer): void => {
    if (at >= alarmAt) return;
    clearTimeout(alarm);
    alarmAt = at;
    // Node counts whole milliseconds, from the start of the event loop's turn: it may ring early, but never here.
    alarm = setAlarm(ring, Math.max(1, Math.ceil(at - now())));
  };

  const catchUp = (lateMs: number): void => {
    if (lateMs < FROZEN_MS) return;
    for (const timer of pending) timer.at += lateMs;
  };

  const ring = (): void => {
    const rungAt = now();
    catchUp(rungAt - alarmAt);
    alarm = undefined;
    alarmAt = Number.POSITIVE_INFINITY;
    const due: Timer[] = [];
    let next: Timer | undefined;
    for (const timer of pending) {
      if (timer.at <= rungAt) due.push(timer);
      else if (!next || timer.at < next.at) next = timer;
    }
    if (next) arm(next);
    const [first, ...others] = due.toSorted((one, other) => one.at - other.at);
    // Each in a separate turn, as Node runs its timers: what awaits one may cancel the next.
    for (const timer of others) setImmediate(() => take(timer)?.());
    if (first) take(first)?.();
  };

  /** Runs `action` once after `ms`; the returned function cancels it. */
  return (ms: number, action: () => void): (() => void) => {
    const timer = { at: now() + ms, action, index: pending.length };
    if (pending.push(timer) === 1) alarm?.ref();
    arm(timer);
    return () => {
      take(timer);
    };
  };
};

/** The only source of time outside the entries, so that tests control it. See `systemClock`. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Runs `action` once after `ms`; the returned function cancels it. */
  after(ms: number, action: () => void): () => void;
};

export const systemClock: Clock = { now: () => Date.now(), after: createTimers() };

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

/** The same of work that may be lost: undefined also if it fails. */
export const tryFor = <Value>(
  clock: Clock,
  ms: number,
  work: Promise<Value>,
): Promise<{ value: Value } | undefined> => withTimeout(clock, ms, work).catch(() => undefined);

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** Lambda's longest invocation. */
export const MAX_INVOCATION_MS = 900_000;

/** Formats instants, and an instant of the same unit of time as the last one without `Date`. */
export const perUnit = (
  unitMs: number,
  format: (instant: Date) => string,
): ((instant: number) => string) => {
  let last: { unit: number; text: string } | undefined;
  return (instant) => {
    const unit = Math.floor(instant / unitMs);
    if (last?.unit !== unit) last = { unit, text: format(new Date(instant)) };
    return last.text;
  };
};

/** The UTC day of an instant (ms): `2026-11-22`. */
export const dayOf = perUnit(DAY_MS, (instant) => instant.toISOString().slice(0, 10));

/** All UTC days from one to another, both included. */
export const daysBetween = (from: string, to: string): string[] => {
  const days: string[] = [];
  for (let instant = Date.parse(from); dayOf(instant) <= to; instant += DAY_MS) {
    days.push(dayOf(instant));
  }
  return days;
};

/** All months (`2026-11`) from one day's to another's, both included. */
export const monthsBetween = (from: string, to: string): string[] => [
  ...new Set(daysBetween(from, to).map((day) => day.slice(0, 7))),
];

/** An instant (ms since the epoch) as RFC 3339 in UTC, without milliseconds. */
export const formatInstant = perUnit(1_000, (instant) => `${instant.toISOString().slice(0, 19)}Z`);

/** Minutes since the epoch. */
export const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);

export const minuteResetsAt = (minute: number): number => (minute + 1) * MINUTE_MS;

/** One in so many, above the calls of a minute that a sample has in full. */
const ONE_IN = 100;

/** A sample of calls that come at any rate: true for the first `full` within a minute, then for one in a hundred. */
export const createMinuteSample = (full: number): ((now: number) => boolean) => {
  let minute = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (now) => {
    const current = minuteOf(now);
    if (current !== minute) {
      minute = current;
      count = 0;
    }
    count += 1;
    return count <= full || count % ONE_IN === 0;
  };
};

/** Whole seconds, rounded up: 1 to 60 until a minute's end. */
export const secondsUntil = (instant: number, now: number): number =>
  Math.max(1, Math.ceil((instant - now) / 1_000));

/**
 * Headers of a 429 that a minute's end lifts. `retry-after` is 1 to 60, because SDKs sleep for as long as
 * it states; `retry-after-ms` is exact.
 */
export const retryAfterMinute = (resetAt: number, now: number): Record<string, string> => ({
  'retry-after': String(Math.min(60, secondsUntil(resetAt, now))),
  'retry-after-ms': String(Math.min(60_000, Math.max(1, resetAt - now))),
});
