import type { Target } from '../catalog/catalog.ts';
import { NO_HEALTHY_TARGET } from '../log-events.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { type ApiError, apiError, DO_NOT_RETRY, withHeaders } from '../support/errors.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { Breaker } from './breaker.ts';
import { classifyFailure } from './classify-failure.ts';
import { awaitContent } from './first-content.ts';
import type { Permit } from './permits.ts';
import type { RetryBudget } from './retry-budget.ts';
import { withRetryHint } from './retry-hint.ts';
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

/** Tells the breaker how the answer ended; by then nobody else can take over. */
async function* watched(batches: EventBatches, pass: Permit): EventBatches {
  let tell = () => pass.onAbandon();
  try {
    yield* batches;
    tell = () => pass.onSuccess();
  } catch (error) {
    if (error instanceof UpstreamError) tell = () => pass.onFailure(error);
    throw error;
  } finally {
    await batches.return();
    await tell();
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
    pass: Permit,
  ): Promise<EventBatches | UpstreamError> => {
    try {
      const batches = await awaitContent(await call);
      budget.succeeded();
      await pass.onStart();
      return watched(batches, pass);
    } catch (error) {
      if (!(error instanceof UpstreamError)) {
        await pass.onAbandon();
        throw error;
      }
      // What is the request's fault says nothing about the upstreams' load.
      if (tripRuleFor(error)) budget.failed();
      await pass.onFailure(error);
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
