import { withTimeout } from '../../support/clock.ts';
import { oncePer } from '../../support/memo.ts';
import type { Ask, Correction } from './fair-queue.ts';
import { createLook, type NamedQuota, type SharedLine, type ShareParts } from './look.ts';
import { mapAmounts } from './quota.ts';

/** `isUnchecked`: the table failed, and the provider decides. `percentLeft`: of what may be sent at once. `waitMs`: how long a denied request had to wait yet, at least. */
export type Place =
  | { isAdmitted: true; isUnchecked: boolean; percentLeft?: number | undefined }
  | { isAdmitted: false; waitMs: number };

export type Shares = ReturnType<typeof createShares>;

/** Those that wait are looked after so often at least: their places are kept for 2.5 s. */
const LONGEST_PAUSE_MS = 2_000;
const SHORTEST_PAUSE_MS = 25;
/** Of one look, which may take several writes. */
const LOOK_TIMEOUT_MS = 1_000;
/** Without checks, after a table failed. */
const UNCHECKED_MS = 2_000;
/** A correction that no request of this process followed is obsolete: the bucket has been filled since. */
const CORRECTION_LIFE_MS = 60_000;

type Waiting = {
  ask: Ask;
  until: number;
  /** As the last look found it; undefined before the first one. */
  waitMs?: number;
  end(place: Place): void;
};

/** What this process knows of one quota. */
type Line = SharedLine & {
  waiting: Waiting[];
  isRunning: boolean;
  /** Of looks, one after another. */
  failures: number;
  uncheckedUntil: number;
  /** Ends the pause before the next look. */
  wake(): void;
};

const lineOf = (quota: NamedQuota): Line => ({
  quota,
  waiting: [],
  corrections: [],
  aheadMs: 0,
  isRunning: false,
  failures: 0,
  uncheckedUntil: 0,
  wake: () => {},
});

/**
 * Fair shares of providers' quotas, over all processes. It is an optimisation as the breakers are: where its table fails,
 * requests are sent.
 */
export const createShares = (parts: ShareParts) => {
  const { clock, random } = parts;
  const look = createLook(parts);
  const lines = oncePer(new Map<string, Line>(), (name) => lineOf({ name, limits: {} }));

  const remove = (line: Line, gone: (one: Waiting) => Place | undefined): void => {
    line.waiting = line.waiting.filter((one) => {
      const place = gone(one);
      if (place) one.end(place);
      return !place;
    });
  };

  const correct = (line: Line, correction: Correction): void => {
    line.corrections.push({ ...correction, at: clock.now() });
  };

  const giveBack = (line: Line, ask: Ask): void =>
    correct(line, { ...ask, amounts: mapAmounts(ask.amounts, (amount) => -amount) });

  /** The provider decides. Those that know when their turn is wait for a second look before they are sent all at once. */
  const send = (line: Line): void => {
    line.failures += 1;
    const isLasting = line.failures > 1;
    if (isLasting) line.uncheckedUntil = clock.now() + UNCHECKED_MS;
    remove(line, ({ waitMs }) =>
      isLasting || waitMs === undefined ? { isAdmitted: true, isUnchecked: true } : undefined,
    );
  };

  const lookAt = async (line: Line): Promise<void> => {
    const waiting = [...line.waiting];
    const now = clock.now();
    const corrections = line.corrections.filter(({ at }) => at > now - CORRECTION_LIFE_MS);
    const asks = waiting.map(({ ask, until }) => ({ ask, leftMs: Math.max(0, until - now) }));
    const looked = await withTimeout(clock, LOOK_TIMEOUT_MS, look(line, asks, corrections));
    if (!looked) return send(line);
    const { value: waits } = looked;
    if (!waits) return;
    line.failures = 0;
    for (const [index, one] of waiting.entries()) {
      const waitMs = waits[index] ?? 0;
      one.waitMs = waitMs;
      // It left during the look.
      if (waitMs === 0 && !line.waiting.includes(one)) giveBack(line, one.ask);
    }
    const { percentLeft } = line;
    remove(line, ({ waitMs, until }) => {
      if (waitMs === 0) return { isAdmitted: true, isUnchecked: false, percentLeft };
      // At once: those before it would have to leave.
      const isHopeless = waitMs !== undefined && now + waitMs > until;
      return isHopeless ? { isAdmitted: false, waitMs } : undefined;
    });
  };

  /** Until the first of them may pass, or its time is over. */
  const pauseOf = ({ waiting }: Line): number => {
    const now = clock.now();
    // What came during a look is looked after at once.
    const next = Math.min(...waiting.map(({ waitMs = 0, until }) => Math.min(waitMs, until - now)));
    const jitter = SHORTEST_PAUSE_MS * random();
    return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, next)) + jitter;
  };

  const rest = (line: Line): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(pauseOf(line), resolve);
      line.wake = () => {
        cancel();
        resolve();
      };
    });

  const run = async (line: Line): Promise<void> => {
    line.isRunning = true;
    while (line.waiting.length > 0) {
      try {
        await lookAt(line);
      } catch {
        send(line);
      }
      const now = clock.now();
      remove(line, ({ until, waitMs }) =>
        until <= now && waitMs !== undefined ? { isAdmitted: false, waitMs } : undefined,
      );
      if (line.waiting.length > 0) await rest(line);
    }
    line.isRunning = false;
  };

  /** Waits up to `patienceMs` for the turn of a request. */
  const take = (
    quota: NamedQuota,
    ask: Ask,
    { patienceMs, signal }: { patienceMs: number; signal: AbortSignal },
  ): Promise<Place> => {
    const line = lines(quota.name);
    line.quota = quota;
    const now = clock.now();
    if (now < line.uncheckedUntil) return Promise.resolve({ isAdmitted: true, isUnchecked: true });
    return new Promise((resolve) => {
      const leave = () =>
        remove(line, (one) => (one === mine ? { isAdmitted: false, waitMs: 0 } : undefined));
      const mine: Waiting = {
        ...{ ask, until: now + patienceMs },
        end: (place) => {
          signal.removeEventListener('abort', leave);
          resolve(place);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      line.waiting.push(mine);
      if (line.isRunning) line.wake();
      else void run(line);
    });
  };

  return {
    take,
    /** Notes what a request counted; it travels with the next look of this process, and costs no write. */
    correct: ({ name }: NamedQuota, correction: Correction): void =>
      correct(lines(name), correction),
  };
};
