import type { Target } from '../catalog/catalog.ts';
import { NO_HEALTHY_TARGET } from '../log-events.ts';
import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { type ApiError, apiError, DO_NOT_RETRY, withHeaders } from '../support/errors.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { Breaker } from './breaker.ts';
import { classifyFailure, withRetryHint } from './classify-failure.ts';
import type { Permit } from './permits.ts';
import type { RetryBudget } from './retry-budget.ts';
import { tripRuleFor } from './trip-policy.ts';

/** An answer whose first content is there. */
export type Opened = { target: Target; batches: EventBatches; attempts: number };

/** A failed attempt, for logs and metrics. */
export type FailedAttempt = { target: Target; fault: UpstreamError };

export type Failover = {
  /** Starts to look at the targets' breakers while something else is awaited. */
  prefetch(targets: Target[]): void;
  /**
   * Opens the targets in order until one gives content. What the last one failed with is what the
   * caller is told.
   * @throws ApiError
   */
  open(options: FailoverOptions): Promise<Opened>;
};

export type FailoverOptions = {
  targets: Target[];
  call: (target: Target) => Promise<EventBatches>;
  onFailure: (failed: FailedAttempt) => void;
};

/** Each on a target of its own: a target that has just failed is not asked again. */
const MAX_ATTEMPTS = 3;

/** SDKs retry twice, a minute apart at most: what opens later than that is not worth the wait. Seconds. */
const WORTH_WAITING = 120;

const allOpen = (openFor: number[]): ApiError => {
  const error = apiError('The model is temporarily unavailable.', {
    status: 503,
    code: NO_HEALTHY_TARGET,
  });
  const isWorthIt = openFor.some((seconds) => seconds <= WORTH_WAITING);
  return withHeaders(withRetryHint(error, openFor), isWorthIt ? {} : DO_NOT_RETRY);
};

const startsWithContent = (event: GenerationEvent): boolean =>
  event.type === 'block-start' && event.block.type !== 'text' && event.block.type !== 'thinking';

/** Whether an event shows the caller a part of this response: no failover after it. */
const isContent = (event: GenerationEvent): boolean =>
  event.type === 'block-delta' || event.type === 'finish' || startsWithContent(event);

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

/** What to say when no target has answered. */
const createFailureSummary = () => {
  let last: UpstreamError | undefined;
  const asked: number[] = [];
  const openFor: number[] = [];
  return {
    add: (fault: UpstreamError) => {
      last = fault;
      if (fault.retryAfterSeconds !== undefined) asked.push(fault.retryAfterSeconds);
    },
    addOpen: (waitMs: number) => {
      openFor.push(waitMs / 1000);
    },
    error: (): ApiError =>
      last ? withRetryHint(classifyFailure(last).error, asked) : allOpen(openFor),
  };
};

export const createFailover = (parts: { breaker: Breaker; budget: RetryBudget }): Failover => {
  const { breaker, budget } = parts;

  /** One attempt. @throws what no target would mend: a fault of ours */
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
      // What is the request's fault says nothing about the upstreams' load.
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
      const gate = await breaker.acquire(target);
      if (gate.isOpen) {
        failures.addOpen(gate.waitMs);
        continue;
      }
      attempts += 1;
      const result = await attempt(call(target), gate.permit);
      if (!(result instanceof UpstreamError)) return { target, batches: result, attempts };
      onFailure({ target, fault: result });
      failures.add(result);
      if (!classifyFailure(result).retryNextTarget) break;
    }
    throw failures.error();
  };

  return { prefetch: breaker.prefetch, open };
};
