import type { Call } from '../endpoints/endpoint.ts';
import type { AnswerClaim, AnswerEntry, AnswerStore, Unit } from '../stores/answer-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { type Clock, MAX_INVOCATION_MS } from '../support/clock.ts';
import { type Attempt, assertSameRequest } from './attempt.ts';
import { LEASE_MS } from './lease.ts';
import { notResumable } from './resume.ts';

/** Who has the request of an attempt. */
export type Found =
  /** This attempt; with the id of the unit and the response, a dead owner's after a takeover. */
  | { by: 'me'; unit: Unit }
  | { by: 'other'; entry: AnswerEntry }
  /** The store failed: a repeat may run a second time. */
  | { by: 'unknown' };

export type Claim = (attempt: Attempt, call: Call) => Promise<Found>;

/** Claims an attempt's request, from its dead owner too. @throws ApiError 409 or 422 */
export const createClaim = ({ answers, clock }: { answers: AnswerStore; clock: Clock }): Claim => {
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
