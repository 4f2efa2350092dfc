import type { CheckedCall } from '../endpoints/check-call.ts';
import type { Call, Reply } from '../endpoints/endpoint.ts';
import type { Meter } from '../metering/meter.ts';
import type { AnswerClaim, AnswerEntry, AnswerStore, Unit } from '../stores/answer-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { type Clock, MAX_INVOCATION_MS, pause } from '../support/clock.ts';
import { apiError } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import { type Attempt, assertSameRequest } from './attempt.ts';
import { isUnstored, NOT_STORED } from './keeper.ts';
import { LEASE_MS } from './lease.ts';
import { createOwn, type Run, type Running } from './own.ts';
import { createRepeatHeaders, readLive, readOwn, replyLate, replyOfKept } from './repeat.ts';
import { assertResumable, notResumable } from './resume.ts';

/** Who has the request of an attempt. */
type Found =
  /** This attempt; with the id of the unit and the response, a dead owner's after a takeover. */
  | { by: 'me'; unit: Unit }
  | { by: 'other'; entry: AnswerEntry }
  /** The store failed: a repeat may run a second time. */
  | { by: 'unknown' };

type Claim = (attempt: Attempt, call: Call) => Promise<Found>;

/** Claims an attempt's request, from its dead owner too. @throws ApiError 409 or 422 */
const createClaim = ({ answers, clock }: { answers: AnswerStore; clock: Clock }): Claim => {
  /** A repeat that continues a stream never runs. */
  const findResumable = async ({ id }: Attempt): Promise<Found> => {
    const entry = await answers.find(id, clock.now());
    if (!entry) throw notResumable();
    return { by: 'other', entry };
  };

  /** The same unit again, unless the reaper may have refunded it. */
  const takeOver = async (mine: AnswerClaim, entry: AnswerEntry): Promise<Found> => {
    const { requestId, startedAt } = mine.now - entry.startedAt < MAX_INVOCATION_MS ? entry : mine;
    const isTaken = await answers.takeOver({ ...mine, requestId, startedAt }, entry);
    return isTaken ? { by: 'me', unit: { requestId, startedAt } } : { by: 'other', entry };
  };

  const claimOnce: Claim = async (attempt, { requestId: owner }) => {
    const { id, fingerprint } = attempt;
    const now = clock.now();
    const unit = { requestId: owner, startedAt: now };
    const mine = { id, owner, fingerprint, now, leaseUntil: now + LEASE_MS, ...unit };
    if (attempt.isFirst) {
      await answers.replace(mine);
      return { by: 'me', unit };
    }
    const result = await answers.claim(mine);
    if (result.isOwned) return { by: 'me', unit };
    const { entry } = result;
    assertSameRequest(entry.fingerprint, fingerprint);
    const isDead = !entry.answer && entry.leaseUntil <= now;
    return isDead ? takeOver(mine, entry) : { by: 'other', entry };
  };

  return async (attempt, call) => {
    try {
      return await (attempt.resumePoint ? findResumable(attempt) : claimOnce(attempt, call));
    } catch (error) {
      if (error instanceof StoreUnavailable) return { by: 'unknown' };
      throw error;
    }
  };
};

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
const createWait = (parts: { answers: Pick<AnswerStore, 'find'>; claim: Claim; clock: Clock }) => {
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

export type ReplayDeps = {
  answers: AnswerStore;
  meter: Pick<Meter, 'admitFree' | 'usage'>;
  clock: Clock;
  log: Log;
  /** How long a response is kept, in ms. */
  keepMs: number;
};

type Repeatable = { attempt: Attempt; checked: CheckedCall; run: Run };

/** The replies to a request, by who has it. */
const createReplies = (deps: ReplayDeps, running: Map<string, Running>) => {
  const { clock, log } = deps;
  const own = createOwn({ ...deps, running });
  const repeatHeaders = createRepeatHeaders(deps);
  return {
    /** Of this attempt. */
    started: async ({ attempt, checked, run }: Repeatable, unit: Unit): Promise<Reply> => {
      const started = own(attempt, unit, checked, run);
      const reply = await started.opening;
      if (!('messages' in reply)) return reply;
      return { ...reply, messages: readOwn(started, checked.call, clock) };
    },
    /** Of a request that runs in this process; its failure is the repeat's too. */
    running: async ({ attempt, checked }: Repeatable, first: Running): Promise<Reply> => {
      const { resumePoint } = attempt;
      assertSameRequest(first.fingerprint, attempt.fingerprint);
      assertResumable(resumePoint, first.owner);
      const headers = await repeatHeaders(checked.call, first);
      const reply = await first.opening;
      if (!('messages' in reply)) {
        return { ...reply, headers: { ...headers, ...(isUnstored(reply) && NOT_STORED) } };
      }
      const messages = readLive(first, checked.call, { clock, resumePoint });
      return { ...reply, headers, messages };
    },
    /** Of a finished request. */
    kept: async ({ attempt, checked }: Repeatable, entry: AnswerEntry): Promise<Reply> => {
      const reply = replyOfKept(entry, attempt.resumePoint);
      const unit = entry.answer?.isEmpty ? undefined : entry;
      return { ...reply, headers: await repeatHeaders(checked.call, entry, unit) };
    },
    /** Of a request that cannot be claimed. */
    unprotected: async ({ checked, run }: Repeatable): Promise<Reply> => {
      log.warn('answer_not_stored', { requestId: checked.call.requestId });
      const reply = await run(checked);
      return { ...reply, headers: { ...reply.headers, ...NOT_STORED } };
    },
  };
};

export { readAttempt } from './attempt.ts';

/** Runs what has an idempotency key: a separate file in the bundle. */
export const createRunOnce = (deps: ReplayDeps) => {
  const running = new Map<string, Running>();
  const claim = createClaim(deps);
  const wait = createWait({ ...deps, claim });
  const replies = createReplies(deps, running);

  const replyTo = async (request: Repeatable, found: Found): Promise<Reply> => {
    const { attempt, checked } = request;
    if (found.by === 'me') return replies.started(request, found.unit);
    const here = running.get(attempt.id);
    if (here) return replies.running(request, here);
    if (found.by === 'unknown') return replies.unprotected(request);
    assertSameRequest(found.entry.fingerprint, attempt.fingerprint);
    if (found.entry.answer) return replies.kept(request, found.entry);
    const later = wait(attempt, checked.call, found.entry).then((next) => replyTo(request, next));
    return checked.request.stream ? replyLate(later, checked, deps.clock) : later;
  };

  return async (request: Repeatable): Promise<Reply> => {
    const { attempt, checked } = request;
    const here = attempt.isFirst ? undefined : running.get(attempt.id);
    if (here) return replies.running(request, here);
    return replyTo(request, await claim(attempt, checked.call));
  };
};
