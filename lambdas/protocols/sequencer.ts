import type { BlockHead, EventOf } from './generation.ts';
import type { SseMessage } from './sse.ts';

export type BlockEvent = EventOf<'block-delta'> | EventOf<'block-extra'> | EventOf<'block-end'>;

/** Writes the events of one block at a time, up to its end. */
export type BlockWriter = {
  begin(head: BlockHead): SseMessage[];
  write(head: BlockHead, event: BlockEvent): SseMessage[];
};

/** Puts interleaved blocks in sequence: the first open one streams, later ones are buffered. */
export const createSequencer = (writer: BlockWriter, isWritable: (head: BlockHead) => boolean) => {
  const waiting = new Map<number, { head: BlockHead; events: BlockEvent[] }>();
  let current: { index: number; head: BlockHead } | undefined;

  /** Starts the next buffered block and writes its events, up to its end if it has ended. */
  const advance = (): SseMessage[] => {
    const [next] = waiting;
    if (!next) return [];
    const [index, { head, events }] = next;
    waiting.delete(index);
    current = { index, head };
    return [...writer.begin(head), ...events.flatMap(append)];
  };

  const append = (event: BlockEvent): SseMessage[] => {
    if (current?.index !== event.index) {
      waiting.get(event.index)?.events.push(event);
      return [];
    }
    const written = writer.write(current.head, event);
    if (event.type !== 'block-end') return written;
    current = undefined;
    return [...written, ...advance()];
  };

  return {
    start: ({ index, block }: EventOf<'block-start'>): SseMessage[] => {
      if (!isWritable(block)) return [];
      waiting.set(index, { head: block, events: [] });
      return current ? [] : advance();
    },
    append,
  };
};
