import { classifyFailure, mapRejectedInput, rejectedParameter } from '#late/failures';
import { endingAtStops } from '#late/stops';
import type { Target } from '../catalog/catalog.ts';
import type { Settlement } from '../metering/admission.ts';
import type { ResponseMeta } from '../protocols/generation.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { isShownTo } from '../protocols/streams/event-writer.ts';
import { originOf } from '../protocols/thinking/origin.ts';
import type { FailedAttempt, Failover, Opened } from '../routing/failover.ts';
import { isSecondChoice } from '../routing/order-targets.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { EventBatches, Upstream } from '../upstreams/upstream.ts';
import { answerEvents, type CallBudget, createCallBudget } from './answer-events.ts';
import type { Tried } from './call-record.ts';
import type { Cancellations } from './cancellations.ts';
import { type CheckedCall, estimateOn, strictError } from './check-call.ts';
import type { Keeper } from './endpoint.ts';
import type { Fuse } from './fuse.ts';
import type { Seat, TakeSeat } from './seat.ts';

/** A response in flight, until one of `end` and `abort` is called. */
export type Fetched = {
  answer: Promise<Answer>;
  /** The last one is of the target that responds, or that is called at the moment. */
  tried: readonly Tried[];
  /** Targets that were passed over because their quota was used. */
  noRoom?: ReadonlySet<Target>;
  /** The response was read to its end. */
  end: () => void;
  /** Aborts the upstream call, if it still runs. */
  abort: () => void;
};

/** `isEmpty`: it ended without any content, and costs the caller no unit. */
export type Answer = { batches: EventBatches; isEmpty: boolean };

/** Starts the upstream call, with failover and a deadline. Never throws: `answer` rejects. */
export type FetchAnswer = (checked: CheckedCall, fuse?: Fuse) => Fetched;

/** Aborts a call whose unit was denied, and reads it to its end, so that its breaker gets the outcome. */
export const discard = async ({ answer, abort }: Fetched): Promise<void> => {
  abort();
  try {
    for await (const _ of (await answer).batches);
  } catch {
    // Aborted, or failed before that.
  }
};

/**
 * A response in flight with its request, its metadata, the settlement of its unit, and what keeps it for
 * repeats of a request with an idempotency key.
 */
export type PendingAnswer = {
  checked: CheckedCall;
  meta: ResponseMeta;
  fetched: Fetched;
  settlement: Settlement;
  keeper?: Keeper | undefined;
};

/** Ends the attempt that runs, with its failure or with its first content. */
const endLast = (tried: Tried[], sinceStart: number, error?: UpstreamError): void => {
  const last = tried.at(-1);
  if (!last || last.ms !== undefined) return;
  last.ms = sinceStart - last.startedMs;
  if (error) last.error = error;
};

/** Begins an attempt. One before it that still runs was empty: that counts as no failure, and the next target is tried. */
const begin = (tried: Tried[], target: Target, startedMs: number): Tried => {
  endLast(tried, startedMs);
  const attempt = { target, form: target, startedMs, characters: 0, isFinal: false };
  tried.push(attempt);
  return attempt;
};

const UNCALLED: readonly string[] = ['aborted', 'lossy', 'capacity'];

/** Notes and logs the failed attempts of one call. */
const createReport = ({ call, model }: CheckedCall, log: Log) => {
  let failedAttempts = 0;
  return ({ target, error }: FailedAttempt) => {
    // The client disconnected, or the target was not called: not a failure of the upstream.
    if (UNCALLED.includes(error.kind)) return;
    failedAttempts += 1;
    // Reset below if a later target responds.
    const { retryNextTarget, error: told } = classifyFailure(error);
    const exhausted = retryNextTarget && told.status >= 500;
    call.note({ failedAttempts, fault: error.kind, exhausted });
    log.warn('upstream_failed', {
      requestId: call.requestId,
      model: model.id,
      upstream: target.upstream,
      fault: error.kind,
      upstreamStatus: error.status,
    });
  };
};

/** The attempts of a call, and what may keep them from being made. */
type Attempts = {
  tried: Tried[];
  noRoom: Set<Target>;
  fuse: Fuse | undefined;
  seat: Seat | undefined;
};

const isShared = (targets: Target[]): boolean => {
  for (const { quota } of targets) if (quota) return true;
  return false;
};

const hasFailedOver = ({ model, targets }: CheckedCall, target: Target): boolean =>
  model.targets.length > 1 && isSecondChoice(target, targets, model.targets);

export const createFetchAnswer = (parts: {
  upstream: Upstream;
  failover: Pick<Failover, 'open'>;
  cancellations: Cancellations;
  clock: Clock;
  log: Log;
  /** Whether upstreams get the caller's `traceparent`. */
  passesTraceparent?: boolean | undefined;
  /** For calls of targets that declare a capacity. @default none is checked */
  takeSeat?: TakeSeat | undefined;
}): FetchAnswer => {
  const { upstream, failover, cancellations, clock } = parts;
  const { log, passesTraceparent = false, takeSeat } = parts;
  const openTargets = (
    checked: CheckedCall,
    { tried, noRoom, fuse, seat }: Attempts,
    { limits, signal }: CallBudget,
  ): Promise<Opened> => {
    const { call, request, model, targets } = checked;
    const report = createReport(checked, log);
    const sinceStart = () => clock.now() - call.startedAt;
    const openOn = (candidate: Target) => {
      const attempt = begin(tried, candidate, sinceStart());
      return upstream.open({
        request: { ...request, thinkingFrom: originOf(candidate) },
        target: candidate,
        projectId: call.caller.projectId,
        heard: attempt,
        onForm: (form) => {
          const cause = strictError(checked, form);
          if (cause)
            throw new UpstreamError('lossy', 'a strict request would lose a member', { cause });
          attempt.form = form;
        },
        protocol: upstreamProtocols[candidate.protocol],
        source: call.source,
        maxOutputTokens: model.max_output_tokens,
        limits,
        signal,
        requestId: call.requestId,
        traceparent: passesTraceparent ? call.traceparent : undefined,
        onRepeat: fuse && (() => fuse.repeat(tried)),
      });
    };
    const attempt = fuse
      ? (target: Target) => fuse.attempt(target, tried).then(() => openOn(target))
      : openOn;
    const options = {
      targets,
      projectId: call.caller.projectId,
      keyId: call.caller.keyId,
      onFailure: (failed: FailedAttempt) => {
        if (failed.error.kind === 'capacity') noRoom.add(failed.target);
        endLast(tried, sinceStart(), failed.error);
        report(failed);
      },
      isOfCaller: (error: UpstreamError) => rejectedParameter(error, call.body) !== undefined,
      isShown: isShownTo(request.extras.protocol),
      call: seat ? seat.before(attempt) : attempt,
    };
    return seat ? seat.open(() => failover.open(options)) : failover.open(options);
  };

  const fetchFromTargets = async (
    checked: CheckedCall,
    attempts: Attempts,
    budget: CallBudget,
  ): Promise<Answer> => {
    const { tried, fuse } = attempts;
    const { call, request, prompt } = checked;
    const { note } = call;
    const startedAt = clock.now();
    let opened: Opened;
    try {
      opened = await openTargets(checked, attempts, budget);
    } catch (error) {
      throw mapRejectedInput(error, call.body);
    }
    const { target, batches, isEmpty } = opened;
    const sinceStart = () => clock.now() - call.startedAt;
    endLast(tried, sinceStart());
    note({
      upstream: target.upstream,
      attempts: opened.attempts,
      failedOver: hasFailedOver(checked, target) || undefined,
      empty: isEmpty || undefined,
      firstContentMs: clock.now() - startedAt,
      // A failure noted after this point is one of this response.
      fault: undefined,
      exhausted: undefined,
    });
    const attempt = tried.find((one) => one.target === target);
    checked.preferred?.served(target, request.stream && !isEmpty ? attempt?.ms : undefined);
    const guarded = fuse && attempt ? fuse.guard(batches, attempt, tried) : batches;
    const takesStops =
      attempt?.form.profile?.stop !== false &&
      upstreamProtocols[target.protocol].takesStops !== false;
    const { stop, choices } = request;
    const ended = stop && !takesStops ? endingAtStops(guarded, stop, choices) : guarded;
    const events = answerEvents(ended, {
      origin: originOf(target),
      used: attempt ?? { characters: 0, isFinal: false },
      estimateInput: () => estimateOn(prompt, target),
      note,
      onFailure: (error) => {
        if (!(error instanceof UpstreamError) || error.kind === 'aborted') return error;
        const last = tried.at(-1);
        if (last) Object.assign(last, { brokeMs: sinceStart() - last.startedMs, error });
        note({ fault: error.kind });
        return mapRejectedInput(error, call.body);
      },
    });
    return { batches: events, isEmpty };
  };

  return (checked, fuse) => {
    const tried: Tried[] = [];
    const noRoom = new Set<Target>();
    const budget = createCallBudget(checked, { clock, cancellations });
    const seat =
      takeSeat && isShared(checked.targets) ? takeSeat(checked, budget.signal) : undefined;
    const answer = fetchFromTargets(checked, { tried, noRoom, fuse, seat }, budget);
    // Avoids an unhandled rejection if it fails before it is awaited.
    answer.catch(() => {});
    if (!seat) return { answer, tried, noRoom, end: budget.end, abort: budget.abort };
    const leaving = (end: () => void) => () => {
      end();
      seat.leave(tried);
    };
    return { answer, tried, noRoom, end: leaving(budget.end), abort: leaving(budget.abort) };
  };
};
