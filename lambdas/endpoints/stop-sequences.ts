import type { EventOf, FinishReason, GenerationEvent } from '../protocols/generation.ts';
import type { EventBatches } from '../upstreams/upstream.ts';

type Match = { stop: string; start: number; end: number };

/**
 * The stop sequence that is complete first: of two with the same end the longer. So the pieces in which a text arrives
 * do not matter.
 */
const firstIn = (text: string, stops: readonly string[]): Match | undefined => {
  let first: Match | undefined;
  for (const stop of stops) {
    const start = text.indexOf(stop);
    if (start === -1) continue;
    const end = start + stop.length;
    const isFirst = !first || end < first.end || (end === first.end && start < first.start);
    if (isFirst) first = { stop, start, end };
  }
  return first;
};

/** Characters at the end of a text with which a stop sequence may begin. */
const doubtfulIn = (text: string, stops: readonly string[]): number => {
  const longest = Math.max(...stops.map(({ length }) => length)) - 1;
  for (let size = Math.min(longest, text.length); size > 0; size -= 1) {
    const end = text.slice(-size);
    if (stops.some((stop) => stop.length > size && stop.startsWith(end))) return size;
  }
  return 0;
};

/** A block that has not ended; `held` is the end of its text that may be part of a stop sequence. */
type Open = { choice: number; isText: boolean; held: string };

const createCutter = (stops: readonly string[], choices: number) => {
  const open = new Map<number, Open>();
  /** Why each response that was cut has ended. */
  const cut = new Map<number, FinishReason>();

  const delta = (index: number, text: string): GenerationEvent[] =>
    text === '' ? [] : [{ type: 'block-delta', index, delta: text }];

  /** Ends the open blocks of one of the responses, and the whole when it was the last. */
  const end = (choice: number, stopSequence: string): GenerationEvent[] => {
    cut.set(choice, { unified: 'stop-sequence', stopSequence });
    const ends: GenerationEvent[] = [];
    for (const [index, block] of open) {
      if (block.choice !== choice) continue;
      ends.push(...delta(index, block.held), { type: 'block-end', index });
      open.delete(index);
    }
    return cut.size < choices ? ends : [...ends, finish({ unified: 'stop' }, undefined)];
  };

  const finish = (
    reason: FinishReason,
    original: EventOf<'finish'> | undefined,
  ): GenerationEvent => {
    const others = Array.from({ length: choices - 1 }, (_, at) => {
      return cut.get(at + 1) ?? original?.others?.[at] ?? reason;
    });
    // What the upstream sent as a whole has the text behind the stop sequence.
    const { body, isEmpty, ...rest } = original ?? { type: 'finish', usage: undefined };
    const event = { ...rest, type: 'finish' as const, reason: cut.get(0) ?? reason };
    return choices > 1 ? { ...event, others } : event;
  };

  const append = (index: number, block: Open, added: string): GenerationEvent[] => {
    const text = block.held + added;
    const found = firstIn(text, stops);
    block.held = '';
    if (found)
      return [...delta(index, text.slice(0, found.start)), ...end(block.choice, found.stop)];
    const size = doubtfulIn(text, stops);
    block.held = text.slice(text.length - size);
    return delta(index, text.slice(0, text.length - size));
  };

  const begin = (event: EventOf<'block-start'>): GenerationEvent[] => {
    const { index, block, choice = 0 } = event;
    if (cut.has(choice)) return [];
    open.set(index, { choice, isText: block.type === 'text', held: '' });
    return [event];
  };

  /** Events of a block whose response was cut are left out. */
  const pushTo = (event: EventOf<'block-delta'> | EventOf<'block-end'>): GenerationEvent[] => {
    const { index } = event;
    const block = open.get(index);
    if (!block) return [];
    if (event.type === 'block-delta') {
      return block.isText ? append(index, block, event.delta) : [event];
    }
    open.delete(index);
    return [...delta(index, block.held), event];
  };

  const push = ({ received, ...event }: GenerationEvent): GenerationEvent[] => {
    switch (event.type) {
      case 'block-start':
        return begin(event);
      case 'block-delta':
      case 'block-end':
        return pushTo(event);
      case 'finish':
        return [cut.size > 0 ? finish(event.reason, event) : event];
      default:
        return [event];
    }
  };

  return { push, isEnded: () => cut.size >= choices };
};

async function* cutting(
  batches: EventBatches,
  { push, isEnded }: ReturnType<typeof createCutter>,
): EventBatches {
  for await (const batch of batches) {
    yield batch.flatMap((event) => (isEnded() ? [] : push(event)));
    if (isEnded()) return;
  }
}

/**
 * Ends a response at the first stop sequence in its text, for a target that takes none: as a vendor would, without the
 * sequence and with it as the reason. The call of the upstream then ends. Several responses end when the last one does.
 */
export const endingAtStops = (batches: EventBatches, stop: readonly string[], choices = 1) =>
  cutting(batches, createCutter(stop, choices));
