import { classifyFailure, errorOfAll, tripRuleFor } from '#late/failures';
import type { Target } from '../catalog/catalog.ts';
import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { createLruCache } from '../support/memo.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { OpenBreaker } from './breakers/attempt.ts';
import type { Breaker } from './breakers/breaker.ts';
import type { Outcome, Permit } from './breakers/permit.ts';

/** A response whose first content has arrived, or one that ended without any. */
export type Opened = {
  target: Target;
  batches: EventBatches;
  /** The upstream ended its response properly, and no target had content for it. */
  isEmpty: boolean;
  attempts: number;
};

/** A failed attempt, for logs and metrics. */
export type FailedAttempt = { target: Target; error: UpstreamError };

export type Failover = {
  /**
   * Tries the targets in order until one sends content. An empty response is tried once more on the next
   * target, and returned if that one does no better: vendors document such responses as successful.
   * @throws ApiError of the last failure, or 503 if every breaker is open
   */
  open(options: FailoverOptions): Promise<Opened>;
};

export type FailoverOptions = {
  targets: Target[];
  /** Whose request it is: the failures of one key or project do not count against others. */
  projectId: string;
  keyId: string;
  call: (target: Target) => Promise<EventBatches>;
  onFailure: (failed: FailedAttempt) => void;
  /** Whether a failure is about a field of the caller, which no other target gets in another form. */
  isOfCaller: (failure: UpstreamError) => boolean;
  /** Whether an event shows the caller a part of the response. */
  isShown: (event: GenerationEvent) => boolean;
};

// --- retry budget ---

const MAX_TOKENS = 10;
const TOKENS_PER_SUCCESS = 0.1;
const FREE_ATTEMPTS = 2;
/** Entries exist for projects with failures only. */
const MAX_PROJECTS = 1_000;

/**
 * Keeps a total outage from tripling the load on the upstreams: a request's third attempt takes a token.
 * The first failover is free, since all requests must move when one target is down. The figures are those
 * of gRPC's retry throttling. Each project has its own tokens: one whose requests fail takes none of others.
 */
const createRetryBudget = () => {
  const projects = createLruCache<number>(MAX_PROJECTS);
  return {
    succeeded: (projectId: string): void => {
      const tokens = projects.get(projectId);
      if (tokens === undefined) return;
      if (tokens + TOKENS_PER_SUCCESS >= MAX_TOKENS) projects.delete(projectId);
      else projects.set(projectId, tokens + TOKENS_PER_SUCCESS);
    },
    failed: (projectId: string): void => {
      projects.set(projectId, Math.max(0, (projects.get(projectId) ?? MAX_TOKENS) - 1));
    },
    allows: (projectId: string, attempt: number): boolean =>
      attempt <= FREE_ATTEMPTS || (projects.get(projectId) ?? MAX_TOKENS) > MAX_TOKENS / 2,
  };
};

// --- attempts ---

/** Each on another target: a target is not retried. */
const MAX_ATTEMPTS = 3;

/**
 * Reads until the first content and returns what it read.
 * @throws UpstreamError: another target may still be tried
 */
const readFirstContent = async (batches: EventBatches, isShown: FailoverOptions['isShown']) => {
  const events: GenerationEvent[] = [];
  for (;;) {
    const { value, done } = await batches.next();
    if (done) return events;
    for (const event of value) events.push(event);
    if (value.some(isShown)) return events;
  }
};

/** Yields the events read so far, then the rest, and reports to the breaker how the response ended. */
async function* reportOutcome(
  first: GenerationEvent[],
  rest: EventBatches,
  permit: Permit,
): EventBatches {
  let outcome: Outcome = { kind: 'abandoned' };
  try {
    yield first;
    yield* rest;
    outcome = { kind: 'finished' };
  } catch (error) {
    if (error instanceof UpstreamError) outcome = { kind: 'failed', error };
    throw error;
  } finally {
    if (outcome.kind === 'abandoned') await rest.return();
    await permit(outcome);
  }
}

/** A response that is complete before it is asked for. */
async function* whole(events: GenerationEvent[]): EventBatches {
  yield events;
}

const isEmptyAnswer = (events: GenerationEvent[]): boolean => {
  const last = events.at(-1);
  return last?.type === 'finish' && last.isEmpty === true;
};

type Result = Pick<Opened, 'batches' | 'isEmpty'> | UpstreamError;

/** Whether the account of the target had no room, so that it was not called. */
const isUncalled = (result: Result): boolean =>
  result instanceof UpstreamError && result.kind === 'capacity';

const createAttempt =
  (budget: ReturnType<typeof createRetryBudget>) =>
  /** Makes one attempt. @throws any error that is not an upstream's: a bug of the router */
  async (
    call: Promise<EventBatches>,
    permit: Permit,
    { projectId, isShown }: Pick<FailoverOptions, 'projectId' | 'isShown'>,
  ): Promise<Result> => {
    try {
      const batches = await call;
      const first = await readFirstContent(batches, isShown);
      budget.succeeded(projectId);
      await permit({ kind: 'started' });
      if (!isEmptyAnswer(first)) {
        return { batches: reportOutcome(first, batches, permit), isEmpty: false };
      }
      await batches.return();
      await permit({ kind: 'finished' });
      return { batches: whole(first), isEmpty: true };
    } catch (error) {
      if (!(error instanceof UpstreamError)) {
        await permit({ kind: 'abandoned' });
        throw error;
      }
      // A failure caused by the request is not evidence of load on the upstreams.
      if (tripRuleFor(error)) budget.failed(projectId);
      await permit(isUncalled(error) ? { kind: 'abandoned' } : { kind: 'failed', error });
      return error;
    }
  };

/** @throws ApiError if the client disconnected: nothing is left to do for it, not even an empty response */
const report = ({ onFailure }: FailoverOptions, failed: FailedAttempt): void => {
  onFailure(failed);
  if (failed.error.kind === 'aborted') throw classifyFailure(failed.error).error;
};

type Progress = { empty: Opened | undefined; attempts: number };

/** Whether the attempt was the one that could do better than an empty response, or failed for good. */
const isLast = (
  result: Result,
  { empty, attempts, isOfCaller }: Pick<FailoverOptions, 'isOfCaller'> & Progress,
): boolean => {
  if (empty) return empty.attempts < attempts;
  if (!(result instanceof UpstreamError)) return false;
  return isOfCaller(result) || !classifyFailure(result).retryNextTarget;
};

type FailoverParts = { breaker: Pick<Breaker, 'order' | 'acquire' | 'acquireLast'> };

export const createFailover = ({ breaker }: FailoverParts): Failover => {
  const budget = createRetryBudget();
  const attempt = createAttempt(budget);

  /** Returns the next of the targets that may be called each time; records those that may not. */
  const candidatesOf = ({ targets, projectId, keyId }: FailoverOptions, open: OpenBreaker[]) => {
    const asker = { projectId, keyId, targets };
    // An array's iterator continues where the last loop over it ended.
    const rest = breaker.order(targets).values();
    let hasResorted = false;
    return async (): Promise<{ target: Target; permit: Permit } | undefined> => {
      for (const target of rest) {
        const acquired = await breaker.acquire(target, asker);
        if (!acquired.isOpen) return { target, permit: acquired.permit };
        open.push(acquired);
      }
      // Once a request: the targets that may be called have failed, or there are none.
      if (hasResorted || open.length === 0) return undefined;
      hasResorted = true;
      const last = breaker.acquireLast(open, asker);
      const index = open.findIndex(({ target }) => target === last?.target);
      // Called after all: its failure is reported, not its breaker.
      if (index !== -1) open.splice(index, 1);
      return last;
    };
  };

  const mayTry = (projectId: string, attempts: number): boolean =>
    attempts < MAX_ATTEMPTS && budget.allows(projectId, attempts + 1);

  const open = async (options: FailoverOptions): Promise<Opened> => {
    const { projectId, call, isOfCaller } = options;
    const failures: UpstreamError[] = [];
    const unavailable: OpenBreaker[] = [];
    let empty: Opened | undefined;
    let attempts = 0;
    const next = candidatesOf(options, unavailable);
    for (let candidate = await next(); candidate; candidate = await next()) {
      const { target, permit } = candidate;
      const result = await attempt(call(target), permit, options);
      attempts += Number(!isUncalled(result));
      if (result instanceof UpstreamError) {
        failures.push(result);
        report(options, { target, error: result });
      } else {
        if (!result.isEmpty) return { target, attempts, ...result };
        empty ??= { target, attempts, ...result };
      }
      if (isLast(result, { empty, attempts, isOfCaller }) || !mayTry(projectId, attempts)) break;
    }
    if (empty) return { ...empty, attempts };
    throw errorOfAll(failures, unavailable);
  };

  return { open };
};
