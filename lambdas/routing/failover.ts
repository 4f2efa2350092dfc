import type { Target } from '../catalog/catalog.ts';
import { UpstreamFault } from '../protocols/upstream-fault.ts';
import { type ApiError, apiError } from '../support/errors.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { Breaker, Pass } from './breaker.ts';
import { awaitContent } from './first-content.ts';
import type { RetryBudget } from './retry-budget.ts';
import { judge } from './verdict.ts';

/** An answer whose first content is there. */
export type Opened = { target: Target; batches: EventBatches; attempts: number };

/** A failed attempt, for logs and metrics. */
export type FailedAttempt = { target: Target; fault: UpstreamFault };

export type Failover = {
  /** Starts to look at the targets' breakers while something else is awaited. */
  expect(targets: Target[]): void;
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

/** SDKs sleep as long as they are told; breakers open for minutes, but a probe may close one sooner. */
const MAX_RETRY_AFTER_SECONDS = 60;

const allOpen = (waitMs: number): ApiError => {
  const seconds = Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(waitMs / 1000)));
  return apiError('The model is temporarily unavailable.', {
    status: 503,
    code: 'no_healthy_target',
    headers: { 'retry-after': String(seconds) },
  });
};

/** Tells the breaker if the answer breaks off later; by then nobody else can take over. */
async function* watched(batches: EventBatches, pass: Pass): EventBatches {
  try {
    yield* batches;
    pass.succeeded();
  } catch (error) {
    if (error instanceof UpstreamFault) pass.failed(error);
    throw error;
  } finally {
    await batches.return();
  }
}

export const createFailover = (parts: { breaker: Breaker; budget: RetryBudget }): Failover => {
  const { breaker, budget } = parts;

  /** One attempt. @throws UpstreamFault */
  const attempt = async (call: Promise<EventBatches>, pass: Pass): Promise<EventBatches> => {
    try {
      const batches = await awaitContent(await call);
      budget.succeeded();
      return watched(batches, pass);
    } catch (error) {
      if (error instanceof UpstreamFault) {
        budget.failed();
        pass.failed(error);
      }
      throw error;
    }
  };

  /** The targets that may be called now, in order; `onOpen` hears of the others. */
  async function* enterable(targets: Target[], onOpen: (waitMs: number) => void) {
    for (const target of targets) {
      const gate = await breaker.enter(target);
      if (gate.isOpen) onOpen(gate.waitMs);
      else yield { target, pass: gate.pass };
    }
  }

  const open = async ({ targets, call, onFailure }: FailoverOptions): Promise<Opened> => {
    let failure: ApiError | undefined;
    let shortestWaitMs = Number.POSITIVE_INFINITY;
    let attempts = 0;
    const onOpen = (waitMs: number) => {
      shortestWaitMs = Math.min(shortestWaitMs, waitMs);
    };
    for await (const { target, pass } of enterable(targets, onOpen)) {
      attempts += 1;
      try {
        return { target, batches: await attempt(call(target), pass), attempts };
      } catch (fault) {
        // Anything else is a fault of ours, and no target would mend it.
        if (!(fault instanceof UpstreamFault)) throw fault;
        onFailure({ target, fault });
        const { error, movesOn } = judge(fault);
        failure = error;
        if (!movesOn || attempts === MAX_ATTEMPTS || !budget.allows(attempts + 1)) break;
      }
    }
    throw failure ?? allOpen(shortestWaitMs);
  };

  return { expect: breaker.expect, open };
};
