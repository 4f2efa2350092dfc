import { createRunOnce, type ReplayDeps, readAttempt } from '#late/run-once';
import type { CheckedCall } from '../endpoints/check-call.ts';
import type { Reply } from '../endpoints/endpoint.ts';
import { DO_NOT_RETRY, invalidRequest } from '../support/errors.ts';
import { atFirstCall } from '../support/memo.ts';
import type { Run } from './own.ts';

/**
 * Runs a request once, however often it is sent: a repeat of a finished request gets its response, and a
 * repeat of a running one waits for it. A request without an idempotency key just runs.
 * @throws ApiError 400, 409 or 422, and what `run` throws
 */
export type Replay = (checked: CheckedCall, run: Run) => Promise<Reply>;

const notOffered = () =>
  invalidRequest('This service keeps no responses: send the request without Idempotency-Key.', {
    headers: DO_NOT_RETRY,
  });

/** `parts` are undefined in a deployment that keeps no responses. */
export const createReplay = (
  parts: (Omit<ReplayDeps, 'answers'> & { openAnswers: () => ReplayDeps['answers'] }) | undefined,
): Replay => {
  const runOnce =
    parts && atFirstCall(() => createRunOnce({ ...parts, answers: parts.openAnswers() }));
  return async (checked, run) => {
    const attempt = readAttempt(checked);
    if (!runOnce && !attempt.hasEventIds) return run(checked);
    const { confirm, ...call } = checked.call;
    // Repeats share what comes of it.
    await confirm?.();
    if (!runOnce) throw notOffered();
    return runOnce({ attempt, checked: { ...checked, call }, run });
  };
};
