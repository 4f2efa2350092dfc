import type { Target } from '../catalog/catalog.ts';
import { UpstreamFault } from '../protocols/upstream-fault.ts';
import { apiError } from '../support/errors.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import { awaitContent } from './first-content.ts';
import { judge } from './verdict.ts';

/** An answer whose first content is there. */
export type Opened = { target: Target; batches: EventBatches; attempts: number };

/** A failed attempt, for logs and metrics. */
export type FailedAttempt = { target: Target; fault: UpstreamFault };

export type FailoverOptions = {
  targets: Target[];
  open: (target: Target) => Promise<EventBatches>;
  onFailure: (failed: FailedAttempt) => void;
};

/** Each on a target of its own: a target that has just failed is not asked again. */
const MAX_ATTEMPTS = 3;

/**
 * Opens the targets in order until one gives content. What the last one failed with is what the caller
 * is told.
 * @throws ApiError
 */
export const failover = async (options: FailoverOptions): Promise<Opened> => {
  const { targets, open, onFailure } = options;
  let error = apiError('The model has no provider.', { status: 503 });
  for (const [index, target] of targets.slice(0, MAX_ATTEMPTS).entries()) {
    try {
      const batches = await awaitContent(await open(target));
      return { target, batches, attempts: index + 1 };
    } catch (fault) {
      // Anything else is a fault of ours, and no target would mend it.
      if (!(fault instanceof UpstreamFault)) throw fault;
      onFailure({ target, fault });
      const verdict = judge(fault);
      error = verdict.error;
      if (!verdict.movesOn) break;
    }
  }
  throw error;
};
