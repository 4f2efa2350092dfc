import type { ResponseMeta } from '../protocols/generation.ts';
import { asRecord } from '../protocols/json.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { originOf, stripForeignThinking } from '../protocols/thinking-origin.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { classifyFailure } from '../routing/classify-failure.ts';
import type { FailedAttempt, Failover } from '../routing/failover.ts';
import type { Clock } from '../support/clock.ts';
import { ApiError, invalidRequest } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import type { EventBatches, Upstream } from '../upstreams/upstream.ts';
import { answerEvents } from './answer-events.ts';
import type { CheckedCall } from './check-call.ts';
import type { Settlement } from './settlement.ts';

/** SDKs give up on a whole answer after 600 s; the platform ends any answer at 900 s. Milliseconds. */
const TOTAL_BUFFERED_MS = 590_000;
const TOTAL_STREAMED_MS = 885_000;
/** Kept back for the end of the answer, the refund and the log line. */
const RESERVE_MS = 10_000;

/** An answer being fetched. `dispose` ends the upstream call, if it still runs, and its timers. */
export type Fetched = { batches: Promise<EventBatches>; dispose: () => void };

/** Starts to fetch the answer from the first target that gives one, against the clock. Never throws. */
export type FetchAnswer = (checked: CheckedCall) => Fetched;

/** An answer on its way: what was asked, what it is called, where it comes from and what it costs. */
export type PendingAnswer = {
  checked: CheckedCall;
  meta: ResponseMeta;
  fetched: Fetched;
  settlement: Settlement;
};

/**
 * A refusal that names a parameter which the caller sent is the caller's to hear, e.g. a temperature that the
 * model does not take; any other failure stays what it is. The upstream's text is not told.
 */
const asCallersFault = (error: unknown, body: unknown): unknown => {
  const fault = error instanceof ApiError ? error.cause : undefined;
  if (!(fault instanceof UpstreamError)) return error;
  const said = asRecord(body) ?? {};
  const param = fault.refusedFields.find(
    (name) => Object.hasOwn(said, name) && said[name] !== null,
  );
  return param === undefined
    ? error
    : invalidRequest(`${param}: the provider of the model does not accept this value.`, {
        param,
        cause: fault,
      });
};

/** Notes and logs the failures of one call's targets. */
const createReport = ({ call, model }: CheckedCall, log: Log) => {
  let failedAttempts = 0;
  return ({ target, fault }: FailedAttempt) => {
    // The caller's doing, and no failure of the upstream's.
    if (fault.kind === 'aborted') return;
    failedAttempts += 1;
    // True unless a later target answers.
    call.note({
      failedAttempts,
      fault: fault.kind,
      exhausted: classifyFailure(fault).retryNextTarget,
    });
    log.warn('upstream_failed', {
      requestId: call.requestId,
      model: model.id,
      upstream: target.upstream,
      fault: fault.kind,
      upstreamStatus: fault.status,
    });
  };
};

export const createFetchAnswer = ({
  upstream,
  failover,
  clock,
  log,
}: {
  upstream: Upstream;
  failover: Pick<Failover, 'open'>;
  clock: Clock;
  log: Log;
}): FetchAnswer => {
  const fetchFromTargets = async (checked: CheckedCall, signal: AbortSignal) => {
    const { call, request, model, targets, estimatedInputTokens } = checked;
    const startedAt = clock.now();
    const opening = failover.open({
      targets,
      onFailure: createReport(checked, log),
      call: (candidate) =>
        upstream.open({
          request: stripForeignThinking(request, originOf(candidate.upstream, candidate.model)),
          target: candidate,
          protocol: upstreamProtocols[candidate.protocol],
          maxOutputTokens: model.max_output_tokens,
          signal,
        }),
    });
    const { target, batches, attempts } = await opening.catch((error: unknown) => {
      throw asCallersFault(error, call.body);
    });
    const firstContentMs = clock.now() - startedAt;
    call.note({ upstream: target.upstream, attempts, firstContentMs });
    // A fault noted from here on is this answer's own.
    call.note({ fault: undefined, exhausted: undefined });
    const origin = originOf(target.upstream, target.model);
    return answerEvents(batches, { origin, estimatedInputTokens, note: call.note });
  };

  return (checked) => {
    const { call, request } = checked;
    const total = request.stream ? TOTAL_STREAMED_MS : TOTAL_BUFFERED_MS;
    const deadline = new AbortController();
    const cancel = clock.after(Math.min(total, call.remainingMs() - RESERVE_MS), () =>
      deadline.abort(new UpstreamError('deadline', 'no time is left')),
    );
    const batches = fetchFromTargets(checked, AbortSignal.any([call.signal, deadline.signal]));
    // Whoever awaits it sees the failure; nobody may be awaiting it yet when it comes.
    batches.catch(() => {});
    const dispose = () => {
      cancel();
      deadline.abort(new UpstreamError('aborted', 'the answer is over'));
    };
    return { batches, dispose };
  };
};
