import type { Call } from '../endpoints/endpoint.ts';
import type { AnswerEntry, AnswerStore } from '../stores/answer-store.ts';
import { type Clock, pause } from '../support/clock.ts';
import { apiError } from '../support/errors.ts';
import type { Attempt } from './attempt.ts';
import type { Claim, Found } from './claim.ts';

/** Reads of the entry while its request runs in another process: soon at first, for short responses. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 1.5;
/** For the error, before the platform ends the invocation. */
const RESERVE_MS = 10_000;

const stillRunning = () =>
  apiError('The first request with this Idempotency-Key is still running. Repeat this one later.', {
    status: 503,
    headers: { 'retry-after': '1' },
  });

const isAlive = (entry: AnswerEntry | undefined, now: number): boolean =>
  entry !== undefined && entry.leaseUntil > now;

/**
 * Waits until the request of an entry is finished in another process, or is this attempt's to run.
 * @throws ApiError 503 at the end of this invocation
 */
export const createWait = (parts: {
  answers: Pick<AnswerStore, 'find'>;
  claim: Claim;
  clock: Clock;
}) => {
  const { answers, claim, clock } = parts;
  /** A read that fails is repeated after the next pause. */
  const find = ({ id }: Attempt, seen: AnswerEntry): Promise<AnswerEntry | undefined> =>
    answers.find(id, clock.now()).catch(() => seen);

  return async (attempt: Attempt, call: Call, seen: AnswerEntry): Promise<Found> => {
    for (let delay = FIRST_PAUSE_MS; ; delay = Math.min(delay * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
      if (call.signal.aborted || call.remainingMs() < RESERVE_MS) throw stillRunning();
      await pause(clock, delay);
      const entry = await find(attempt, seen);
      if (entry?.answer) return { by: 'other', entry };
      // Released after a failure, or its owner is dead.
      if (!isAlive(entry, clock.now())) return claim(attempt, call);
    }
  };
};
