import type { Target } from '../catalog/catalog.ts';
import { NO_HEALTHY_TARGET } from '../log-events.ts';
import { isContent } from '../protocols/first-content.ts';
import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { type ApiError, apiError, DO_NOT_RETRY, withHeaders } from '../support/errors.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { Breaker } from './breaker.ts';
import { classifyFailure, type FailureClass, isFinal, withRetryHint } from './classify-failure.ts';
import type { Permit } from './permits.ts';
import type { RetryBudget } from './retry-budget.ts';
import { tripRuleFor } from './trip-policy.ts';

/** A response whose first content has arrived. */
export type Opened = { target: Target; batches: EventBatches; attempts: number };

/** A failed attempt, for logs and metrics. */
export type FailedAttempt = { target: Target; fault: UpstreamError };

export type Failover = {
  /** Starts to read the targets' breakers, concurrently with what the caller awaits. */
  prefetch(targets: Target[]): void;
  /**
   * Tries the targets in order until one sends content.
   * @throws ApiError of the last failure, or 503 if every breaker is open
   */
  open(options: FailoverOptions): Promise<Opened>;
};

export type FailoverOptions = {
  targets: Target[];
  call: (target: Target) => Promise<EventBatches>;
  onFailure: (failed: FailedAttempt) => void;
};

/** Each on another target: a target is not retried. */
const MAX_ATTEMPTS = 3;

/** SDKs retry twice, at most a minute apart: a longer wait exceeds both retries. Seconds. */
const MAX_USEFUL_WAIT = 120;

const isUseful = (seconds: number): boolean => seconds <= MAX_USEFUL_WAIT;

const allOpen = (openFor: number[]): ApiError => {
  const error = apiError('The model is temporarily unavailable.', {
    status: 503,
    code: NO_HEALTHY_TARGET,
  });
  const headers = openFor.some(isUseful) ? {} : DO_NOT_RETRY;
  return withHeaders(withRetryHint(error, openFor), headers);
};

/**
 * Reads until the first content and returns what it read.
 * @throws UpstreamError: another target may still be tried
 */
const readFirstContent = async (batches: EventBatches): Promise<GenerationEvent[]> => {
  const events: GenerationEvent[] = [];
  try {
    for (;;) {
      const { value, done } = await batches.next();
      if (done) return events;
      events.push(...value);
      if (value.some(isContent)) return events;
    }
  } catch (error) {
    await batches.return();
    throw error;
  }
};

/** Yields the events read so far, then the rest, and reports to the breaker how the response ended. */
async function* reportOutcome(
  first: GenerationEvent[],
  rest: EventBatches,
  permit: Permit,
): EventBatches {
  let report = () => permit.onAbandon();
  try {
    yield first;
    yield* rest;
    report = () => permit.onSuccess();
  } catch (error) {
    if (error instanceof UpstreamError) report = () => permit.onFailure(error);
    throw error;
  } finally {
    await rest.return();
    await report();
  }
}

/** Collects the failures of all targets into the caller's error. */
const createFailureSummary = () => {
  let last: FailureClass | undefined;
  let lastRetryable: ApiError | undefined;
  const retryAfters: number[] = [];
  const openFor: number[] = [];
  return {
    add: (fault: UpstreamError) => {
      last = classifyFailure(fault);
      if (!isFinal(last.error)) lastRetryable = last.error;
      if (fault.retryAfterSeconds !== undefined) retryAfters.push(fault.retryAfterSeconds);
    },
    addOpen: (waitMs: number) => {
      openFor.push(waitMs / 1000);
    },
    /** Final only if every target's failure is: another target may respond to a retry. */
    error: (): ApiError => {
      if (!last) return allOpen(openFor);
      if (!last.retryNextTarget) return withRetryHint(last.error, retryAfters);
      if (!lastRetryable && openFor.some(isUseful)) return allOpen(openFor);
      return withRetryHint(lastRetryable ?? last.error, retryAfters);
    },
  };
};

export const createFailover = (parts: { breaker: Breaker; budget: RetryBudget }): Failover => {
  const { breaker, budget } = parts;

  /** Makes one attempt. @throws any error that is not an upstream's: a bug of the router */
  const attempt = async (
    call: Promise<EventBatches>,
    permit: Permit,
  ): Promise<EventBatches | UpstreamError> => {
    try {
      const batches = await call;
      const first = await readFirstContent(batches);
      budget.succeeded();
      await permit.onStart();
      return reportOutcome(first, batches, permit);
    } catch (error) {
      if (!(error instanceof UpstreamError)) {
        await permit.onAbandon();
        throw error;
      }
      // A failure caused by the request is not evidence of load on the upstreams.
      if (tripRuleFor(error)) budget.failed();
      await permit.onFailure(error);
      return error;
    }
  };

  const mayTry = (attempts: number): boolean =>
    attempts < MAX_ATTEMPTS && budget.allows(attempts + 1);

  const open = async ({ targets, call, onFailure }: FailoverOptions): Promise<Opened> => {
    const failures = createFailureSummary();
    let attempts = 0;
    for (const target of targets) {
      if (!mayTry(attempts)) break;
      const acquired = await breaker.acquire(target);
      if (acquired.isOpen) {
        failures.addOpen(acquired.waitMs);
        continue;
      }
      attempts += 1;
      const result = await attempt(call(target), acquired.permit);
      if (!(result instanceof UpstreamError)) return { target, batches: result, attempts };
      onFailure({ target, fault: result });
      failures.add(result);
      if (!classifyFailure(result).retryNextTarget) break;
    }
    throw failures.error();
  };

  return { prefetch: breaker.prefetch, open };
};
