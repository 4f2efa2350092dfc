import type { AnswerStore } from '../stores/answer-store.ts';
import type { Clock } from '../support/clock.ts';

/** An owner that has not renewed for so long is dead; two failed renewals and the skew of clocks fit in. */
export const LEASE_MS = 30_000;
const RENEW_MS = 8_000;

/** Renews the lease of a running request until the returned function is called, or the owner is replaced. */
export const holdLease = (
  { id, owner }: { id: string; owner: string },
  { answers, clock }: { answers: Pick<AnswerStore, 'renew'>; clock: Clock },
): (() => void) => {
  let cancel = () => {};
  let isHeld = true;
  const renew = async (): Promise<void> => {
    // A renewal that fails is repeated with the next one.
    const isOwner = await answers.renew(id, owner, clock.now() + LEASE_MS).catch(() => true);
    if (isOwner && isHeld) schedule();
  };
  const schedule = () => {
    cancel = clock.after(RENEW_MS, () => void renew());
  };
  schedule();
  return () => {
    isHeld = false;
    cancel();
  };
};
