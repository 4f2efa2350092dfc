import type { FinishReason, GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import { createOriginTagger } from '../protocols/thinking/origin.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import { type Counts, completeUsage } from './bill.ts';
import type { Call } from './endpoint.ts';

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
