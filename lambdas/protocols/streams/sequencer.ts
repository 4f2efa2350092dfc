import type { BlockHead, EventOf, GenerationEvent } from '../generation.ts';
import type { EventEncoder } from '../protocol.ts';
import type { SseMessage } from './sse.ts';

export type BlockEvent = EventOf<'block-delta'> | EventOf<'block-end'>;

/** Writes the events of one block at a time, up to its end. */
export type BlockWriter = {
  begin(head: BlockHead): SseMessage[];
  write(head: BlockHead, event: BlockEvent): SseMessage[];
};

/** Writes the blocks of a response, and what is before and behind them. */
export type ResponseWriter = BlockWriter & {
  isWritable(head: BlockHead): boolean;
  start(event: EventOf<'start'>): SseMessage[];
  finish(event: EventOf<'finish'>): SseMessage[];
};

/** Puts interleaved blocks in sequence: the first open one streams, later ones are buffered. */
export const createSequencer = (writer: ResponseWriter): EventEncoder => {
  const waiting = new Map<number, { head: BlockHead; events: BlockEvent[] }>();
  let current: { index: number; head: BlockHead } | undefined;

  const write = (head: BlockHead, event: BlockEvent): SseMessage[] => {
    if (event.type === 'block-end') current = undefined;
    return writer.write(head, event);
  };

  /** Starts the next buffered block and writes its events; if it has ended, those of the one behind it too. */
  const advance = (): SseMessage[] => {
    const written: SseMessage[][] = [];
    for (const [index, { head, events }] of waiting) {
      waiting.delete(index);
      current = { index, head };
      written.push(
        writer.begin(head),
        events.flatMap((event) => write(head, event)),
      );
      if (current) break;
    }
    return written.flat();
  };

  const append = (event: BlockEvent): SseMessage[] => {
    if (current?.index !== event.index) {
      waiting.get(event.index)?.events.push(event);
      return [];
    }
    const written = write(current.head, event);
    return current ? written : [...written, ...advance()];
  };

  const open = ({ index, block }: EventOf<'block-start'>): SseMessage[] => {
    if (!writer.isWritable(block)) return [];
    waiting.set(index, { head: block, events: [] });
    return current ? [] : advance();
  };

  const push = (event: GenerationEvent): SseMessage[] => {
    switch (event.type) {
      case 'start':
        return writer.start(event);
      case 'block-start':
        return open(event);
      case 'finish':
        return writer.finish(event);
      case 'aside':
        return [];
      default:
        return append(event);
    }
  };
  return { push };
};
