import type { Model } from '../catalog/catalog.ts';
import type { FinishReason, GenerationEvent, GenerationRequest } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { createOriginTagger } from '../protocols/thinking/origin.ts';
import type { Clock } from '../support/clock.ts';
import type { AnswerLimits, EventBatches } from '../upstreams/upstream.ts';
import { type Counts, completeUsage } from './bill.ts';
import type { Cancellations } from './cancellations.ts';
import type { Call } from './endpoint.ts';

// --- what a call may use ---

/** SDK timeouts for a whole response are 600 s; the platform's limit is 900 s. Milliseconds. */
const TOTAL_BUFFERED_MS = 590_000;
const TOTAL_STREAMED_MS = 885_000;
/** Reserved for the last messages, the refund and the log line. */
const RESERVE_MS = 10_000;

/** A token has 4 characters on average; one of white space or of a rare word has up to about 100. */
const CHARACTERS_PER_TOKEN = 16;
/** For upstreams that do not count thinking, or that ignore a small `max_tokens`. */
const BASE_CHARACTERS = 256_000;
/** Providers send about one message a token, and pings. */
const MESSAGES_PER_TOKEN = 4;
const BASE_MESSAGES = 10_000;
/** Search results and images; with escapes a character takes up to six in JSON. */
const BASE_OVERHEAD = 16_000_000;
const OVERHEAD_PER_CHARACTER = 6;
/** Log probabilities take 2 to 4 KB a token, and a whole response keeps them all. */
const LOGPROBS_OVERHEAD = 48_000_000;

const asksForLogprobs = ({ extras }: GenerationRequest): boolean =>
  Boolean(extras.fields.logprobs || extras.fields.top_logprobs);

/** Ends what still runs for a response that has ended. One for all: an error costs a trace of the stack. */
const OVER = new UpstreamError('aborted', 'the answer is over');

/** Limits of one response, by the tokens that the caller and the model allow. */
const answerLimits = (
  request: GenerationRequest,
  { max_output_tokens: limit }: Pick<Model, 'max_output_tokens'>,
): AnswerLimits => {
  const tokens = Math.min(request.maxTokens ?? limit, limit);
  const characters = BASE_CHARACTERS + tokens * CHARACTERS_PER_TOKEN;
  const overhead = BASE_OVERHEAD + characters * OVERHEAD_PER_CHARACTER;
  return {
    characters,
    messages: BASE_MESSAGES + tokens * MESSAGES_PER_TOKEN,
    overhead: asksForLogprobs(request) ? Math.max(LOGPROBS_OVERHEAD, overhead) : overhead,
  };
};

export type CallBudget = ReturnType<typeof createCallBudget>;

/**
 * What one admitted call may use, over all its attempts: time by `signal`, and what each response may hold
 * by `limits`. The deadlines of one attempt are in upstreams/response-body.ts.
 */
export const createCallBudget = (
  { call, request, model }: { call: Call; request: GenerationRequest; model: Model },
  { clock, cancellations }: { clock: Clock; cancellations: Cancellations },
) => {
  const total = request.stream ? TOTAL_STREAMED_MS : TOTAL_BUFFERED_MS;
  // One controller: `AbortSignal.any` takes 40 us of CPU.
  const budget = new AbortController();
  const abort = (reason: unknown) => budget.abort(reason);
  const cancel = clock.after(Math.min(total, call.remainingMs() - RESERVE_MS), () =>
    abort(new UpstreamError('deadline', 'no time is left')),
  );
  const unwatch = cancellations.watch(call, abort);
  const onDisconnect = () => abort(call.signal.reason);
  call.signal.addEventListener('abort', onDisconnect, { once: true });
  if (call.signal.aborted) onDisconnect();
  /** Ends the timer of a call that has ended: an abort makes and dispatches an event, also if it stops nothing. */
  const end = (): void => {
    cancel();
    unwatch();
    call.signal.removeEventListener('abort', onDisconnect);
  };
  return {
    limits: answerLimits(request, model),
    /** Aborts at the deadline, when the client disconnects or cancels, and on `abort`. */
    signal: budget.signal,
    end,
    /** Ends a call that may still run. */
    abort: (): void => {
      end();
      abort(OVER);
    },
  };
};

// --- the events of its answer ---

const CUT: FinishReason = { unified: 'length' };

type EventStep = (event: GenerationEvent) => GenerationEvent;

/** Tracks which blocks are open, so that a response can be ended well-formed at any event. */
const createBlockTracker = () => {
  const openBlocks = new Set<number>();
  const track: EventStep = (event) => {
    if (event.type === 'block-start') openBlocks.add(event.index);
    if (event.type === 'block-end') openBlocks.delete(event.index);
    return event;
  };
  /** Returns the events that end the response here: each open block, then the finish `length`. */
  const endEvents = (): GenerationEvent[] => [
    ...[...openBlocks].map((index) => ({ type: 'block-end' as const, index })),
    { type: 'finish', reason: CUT, usage: undefined },
  ];
  return { track, endEvents };
};

/** Completes the usage of the finish event, and notes it with the finish reason for the log line. */
export const createUsageRecorder =
  (used: Counts, estimateInput: () => number, note: Call['note']): EventStep =>
  (event) => {
    if (event.type === 'block-delta') used.characters += event.delta.length;
    if (event.type !== 'finish') return event;
    used.usage = event.usage ?? used.usage;
    used.isFinal = event.usage !== undefined;
    const usage = completeUsage(event.usage, used, estimateInput);
    note({
      finish: event.reason.unified,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      inputEstimated: event.usage?.inputTokens ? undefined : true,
      cacheReadTokens: usage.cacheReadTokens,
      cacheWriteTokens: usage.cacheWriteTokens,
      cacheWriteLongTokens: usage.cacheWriteLongTokens,
      cacheMissReason: usage.cacheMissReason,
      reasoningTokens: usage.reasoningTokens,
    });
    return { ...event, usage };
  };

/** The call's time or output is used up. */
const isBudgetSpent = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.kind === 'deadline' || error.kind === 'output-limit');

export type AnswerOptions = {
  /** The upstream's origin (`originOf`), added to the signatures of its thinking. */
  origin: string;
  used: Counts;
  estimateInput(): number;
  note: Call['note'];
  /** Called with a failure after the first content; returns the one to throw. */
  onFailure(error: unknown): unknown;
};

/**
 * Passes an upstream's events through the per-event steps, for streamed and whole responses alike.
 *
 * At the deadline, and beyond the call's limits, the response ends with `length`, as if the token limit was
 * reached: what was generated is usable and paid for, and an error would make agents repeat all of it.
 */
export async function* answerEvents(
  upstream: EventBatches,
  { origin, used, estimateInput, note, onFailure }: AnswerOptions,
): EventBatches {
  const tagOrigin = createOriginTagger(origin);
  const { track, endEvents } = createBlockTracker();
  const recordUsage = createUsageRecorder(used, estimateInput, note);
  try {
    for await (const batch of upstream) {
      yield batch.map((event) => recordUsage(track(tagOrigin(event))));
    }
  } catch (error) {
    if (!isBudgetSpent(error)) throw onFailure(error);
    note({ cut: true });
    yield endEvents().map(recordUsage);
  }
}
