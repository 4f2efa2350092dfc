import type { Model, Target } from '../catalog/catalog.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import { protocols } from '../protocols/protocols.ts';
import { createSealer, issuerMark, unseal } from '../protocols/seal.ts';
import { UpstreamFault } from '../protocols/upstream-fault.ts';
import type { FailedAttempt, Failover } from '../routing/failover.ts';
import { judge } from '../routing/verdict.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { EventBatches, Upstream } from '../upstreams/upstream.ts';
import { cutAtDeadline } from './cut-at-deadline.ts';
import type { Call } from './endpoint.ts';
import { observe } from './observe.ts';

/** SDKs give up on a whole answer after 600 s; the platform ends any answer at 900 s. Milliseconds. */
const TOTAL_BUFFERED_MS = 590_000;
const TOTAL_STREAMED_MS = 885_000;
/** Kept back for the end of the answer, the refund and the log line. */
const RESERVE_MS = 10_000;

export type Answering = {
  call: Call;
  request: GenerationRequest;
  model: Model;
  targets: Target[];
  estimatedInputTokens: number;
  upstream: Upstream;
  failover: Failover;
  clock: Clock;
  log: Log;
};

/** An answer being fetched. `dispose` ends the upstream call, if it still runs, and its timers. */
export type Fetched = { batches: Promise<EventBatches>; dispose: () => void };

async function* sealed(batches: EventBatches, mark: string): EventBatches {
  const seal = createSealer(mark);
  for await (const batch of batches) yield batch.map(seal);
}

const reportFailure = (
  { call, model, log }: Answering,
  { target, fault }: FailedAttempt,
  failedAttempts: number,
) => {
  // True unless a later target answers.
  call.note({ failedAttempts, fault: fault.kind, exhausted: judge(fault).movesOn });
  log.warn('upstream_failed', {
    requestId: call.requestId,
    model: model.id,
    upstream: target.upstream,
    fault: fault.kind,
    upstreamStatus: fault.status,
  });
};

const open = async (answering: Answering, signal: AbortSignal): Promise<EventBatches> => {
  const { call, request, model, targets, estimatedInputTokens, upstream, failover, clock } =
    answering;
  const startedAt = clock.now();
  let failedAttempts = 0;
  const opened = await failover.open({
    targets,
    onFailure: (failed) => {
      // The caller's doing, and no failure of the upstream's.
      if (failed.fault.kind === 'aborted') return;
      failedAttempts += 1;
      reportFailure(answering, failed, failedAttempts);
    },
    call: (target) =>
      upstream.open({
        request: unseal(request, issuerMark(target.upstream, target.model)),
        target,
        protocol: protocols[target.protocol],
        maxOutputTokens: model.max_output_tokens,
        signal,
      }),
  });
  const { target, attempts } = opened;
  const firstContentMs = clock.now() - startedAt;
  call.note({ upstream: target.upstream, attempts, firstContentMs });
  // A fault noted from here on is this answer's own.
  call.note({ fault: undefined, exhausted: undefined });
  const mark = issuerMark(target.upstream, target.model);
  const whole = cutAtDeadline(sealed(opened.batches, mark), () => call.note({ cut: true }));
  return observe(whole, estimatedInputTokens, call.note);
};

/** Starts to fetch the answer from the first target that gives one, against the clock. */
export const fetchAnswer = (answering: Answering): Fetched => {
  const { call, request, clock } = answering;
  const total = request.stream ? TOTAL_STREAMED_MS : TOTAL_BUFFERED_MS;
  const deadline = new AbortController();
  const cancel = clock.after(Math.min(total, call.remainingMs() - RESERVE_MS), () =>
    deadline.abort(new UpstreamFault('deadline', 'no time is left')),
  );
  const batches = open(answering, AbortSignal.any([call.signal, deadline.signal]));
  // Whoever awaits it sees the failure; nobody may be awaiting it yet when it comes.
  batches.catch(() => {});
  const dispose = () => {
    cancel();
    deadline.abort(new UpstreamFault('aborted', 'the answer is over'));
  };
  return { batches, dispose };
};
