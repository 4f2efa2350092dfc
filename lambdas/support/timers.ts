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
