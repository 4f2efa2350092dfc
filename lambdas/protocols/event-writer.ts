import { createBlockEvents } from './block-events.ts';
import { checkFinish } from './finish-check.ts';
import type { BlockHead, Extras, FinishReason, GenerationEvent, Usage } from './generation.ts';

/**
 * Writes canonical events that are well-formed whatever the upstream sent: dense indices, every block
 * closed once, one start, one finish, a finish reason that fits the blocks. Decoders name blocks by
 * keys of their own wire (`tool:3`), so fragments that interleave find their block.
 */
export type EventWriter = {
  start(usage?: Partial<Usage>): void;
  isOpen(key: string): boolean;
  open(key: string, head: BlockHead): void;
  /** Appends to an open block; empty deltas vanish. */
  delta(key: string, text: string): void;
  extra(key: string, extras: Extras): void;
  close(key: string, signature?: string): void;
  /** Closes tool calls whose arguments are complete, so that what follows need not wait for them. */
  closeCompleteTools(): void;
  /** @throws UpstreamError when there is no answer, or tool arguments are not a JSON object. */
  finish(reason: FinishReason, usage: Usage | undefined): void;
  readonly finished: boolean;
  /** The events written since the last call. */
  drain(): GenerationEvent[];
};

/** `mayBeEmpty`: an answer without content is one. */
export const createEventWriter = ({ mayBeEmpty = false } = {}): EventWriter => {
  let events: GenerationEvent[] = [];
  let started = false;
  let finished = false;
  const blocks = createBlockEvents((event) => {
    events.push(event);
  });

  const start = (usage?: Partial<Usage>) => {
    if (started) return;
    started = true;
    events.push(usage ? { type: 'start', usage } : { type: 'start' });
  };

  return {
    start,
    isOpen: blocks.isOpen,
    open: (key, head) => {
      start();
      blocks.open(key, head);
    },
    delta: blocks.delta,
    extra: blocks.extra,
    close: blocks.close,
    closeCompleteTools: blocks.closeCompleteTools,
    finish: (reason, usage) => {
      start();
      blocks.closeAll();
      const fitting = checkFinish(reason, blocks.answer, mayBeEmpty);
      finished = true;
      events.push({ type: 'finish', reason: fitting, usage });
    },
    get finished() {
      return finished;
    },
    drain: () => {
      const drained = events;
      events = [];
      return drained;
    },
  };
};
