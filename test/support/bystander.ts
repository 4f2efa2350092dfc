import { setTimeout as pause } from 'node:timers/promises';
import type { ManualClock } from './manual-clock.ts';

/** What one request of the bystander came to; `status` 0 is a connection that broke. */
type Witnessed = { askedAt: number; answeredAt: number; status: number; isGood: boolean };

/** How a second tenant fared while something else misbehaved. Times in milliseconds of the given clock. */
export type Account = {
  asked: number;
  succeeded: number;
  /** Share of its requests that succeeded, 0 to 1. */
  successRate: number;
  slowestMs: number;
  /** The longest time without a success, from the first request to the end. */
  longestGapMs: number;
  statuses: Record<number, number>;
};

type Response = { status: number; text: string };

export type BystanderOptions = {
  /** One request of the second tenant; status 200 is right. */
  ask: () => Promise<Response>;
};

const longestGap = (times: number[]): number =>
  Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time)));

const accountOf = (seen: Witnessed[], from: number, to: number): Account => {
  const good = seen.filter(({ isGood }) => isGood);
  const statuses: Record<number, number> = {};
  for (const { status } of seen) statuses[status] = (statuses[status] ?? 0) + 1;
  const successes = good.map(({ answeredAt }) => answeredAt).toSorted((a, b) => a - b);
  return {
    asked: seen.length,
    succeeded: good.length,
    successRate: seen.length === 0 ? 0 : good.length / seen.length,
    slowestMs: Math.max(0, ...seen.map(({ askedAt, answeredAt }) => answeredAt - askedAt)),
    longestGapMs: longestGap([from, ...successes, to]),
    statuses,
  };
};

const createWitness = ({ ask }: BystanderOptions, now: () => number) => {
  const seen: Witnessed[] = [];
  const pending = new Set<Promise<void>>();
  const from = now();
  const askOnce = (): Promise<void> => {
    const askedAt = now();
    const asked = ask()
      .then(
        ({ status }) => ({ status, isGood: status === 200 }),
        () => ({ status: 0, isGood: false }),
      )
      .then((outcome) => {
        seen.push({ askedAt, answeredAt: now(), ...outcome });
        pending.delete(asked);
      });
    pending.add(asked);
    return asked;
  };
  return { askOnce, pending, account: () => accountOf(seen, from, now()) };
};

/**
 * Turns of the event loop, of at least a millisecond, after which the manual clock moves on without a request. Turns
 * and not milliseconds: a busy machine makes both the turns and the request slower.
 */
const GRACE_TURNS = 250;
/** Waits until the work is done, or seems to need the clock. */
const untilDoneOrHeld = async (work: Promise<unknown>): Promise<void> => {
  let isDone = false;
  work.finally(() => {
    isDone = true;
  });
  for (let turn = 0; turn < GRACE_TURNS && !isDone; turn += 1) await pause(1);
};

/** Seconds of the manual clock after which a request of the bystander counts as hung. */
const LONGEST_ANSWER_S = 900;

/**
 * Moves the clock on second by second; in each second the bystander asks once, and `act` runs next to it.
 * @throws Error when a request of the bystander has no response 900 s of the clock after the end
 */
export const withBystander = async (
  options: BystanderOptions & {
    clock: ManualClock;
    seconds: number;
    act?: (second: number) => Promise<unknown> | undefined;
  },
): Promise<Account> => {
  const { clock, seconds, act } = options;
  const { askOnce, pending, account } = createWitness(options, clock.now);
  const acts: (Promise<unknown> | undefined)[] = [];
  for (let second = 1; second <= seconds; second += 1) {
    acts.push(act?.(second));
    await untilDoneOrHeld(askOnce());
    clock.advance(1_000);
  }
  for (let late = 0; pending.size > 0; late += 1) {
    if (late > LONGEST_ANSWER_S) throw new Error('a request of the bystander hangs');
    await untilDoneOrHeld(Promise.all(pending));
    if (pending.size > 0) clock.advance(1_000);
  }
  const fared = account();
  await Promise.all(acts);
  return fared;
};

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Lets the bystander ask one request after another, until `action` has ended and the last one is answered. For routers on
 * the system clock; times are of this thread's CPU, because a busy machine makes all others longer.
 */
export const besideBystander = async <T>(
  options: BystanderOptions,
  action: () => Promise<T>,
): Promise<{ got: T; account: Account }> => {
  const { askOnce, account } = createWitness(options, cpuMs);
  let isOver = false;
  const acting = action().finally(() => {
    isOver = true;
  });
  do await askOnce();
  while (!isOver);
  return { got: await acting, account: account() };
};
