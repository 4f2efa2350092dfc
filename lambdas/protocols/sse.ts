import { createParser } from 'eventsource-parser';
import { type Clock, withTimeout } from '../support/clock.ts';

/** One Server-Sent Event with data. A client that reconnects sends the last `id` in `Last-Event-ID`. */
export type SseEvent = { id?: string; event?: string; data: string };

/**
 * What a stream sends: an event, a `comment`, which clients ignore and which keeps it alive, or the `text`
 * of messages that are formatted already.
 */
export type SseMessage = SseEvent | { comment: string } | { text: string };

/** The messages of one response; each batch is one write. */
export type MessageBatches = AsyncGenerator<SseMessage[], void, void>;

/** Text of one message on the wire. `data` is JSON in one line, so it never needs splitting. */
export const formatSse = (message: SseMessage): string => {
  if ('comment' in message) return `: ${message.comment}\n\n`;
  if ('text' in message) return message.text;
  const id = message.id === undefined ? '' : `id: ${message.id}\n`;
  const event = message.event === undefined ? '' : `event: ${message.event}\n`;
  return `${id}${event}data: ${message.data}\n\n`;
};

/**
 * Reads the Server-Sent Events of one body. Bytes may be split anywhere, also inside a UTF-8 character or
 * between CR and LF: the messages are the same.
 */
export const createSseReader = () => {
  let messages: SseEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => messages.push(event === undefined ? { data } : { event, data }),
  });
  const decoder = new TextDecoder();
  const feed = (text: string): SseEvent[] => {
    parser.feed(text);
    const complete = messages;
    messages = [];
    return complete;
  };
  return {
    /** Returns the messages that `bytes` complete, in order. */
    push: (bytes: Uint8Array): SseEvent[] => feed(decoder.decode(bytes, { stream: true })),
    /** Returns the last message if the body ended without the blank line after it, as some do. */
    end: (): SseEvent[] => feed(`${decoder.decode()}\n\n`),
  };
};

/** Idle limits between here and the caller start at 20 s (an agent's watchdog) and 30 s (edge proxies). */
export const HEARTBEAT_MS = 10_000;

/** Yields the same messages, and `beat` after each 10 s of silence. */
export async function* withHeartbeat(
  source: MessageBatches,
  beat: SseMessage,
  clock: Clock,
): MessageBatches {
  try {
    for (;;) {
      const next = source.next();
      let arrived = await withTimeout(clock, HEARTBEAT_MS, next);
      while (!arrived) {
        yield [beat];
        arrived = await withTimeout(clock, HEARTBEAT_MS, next);
      }
      const { value: result } = arrived;
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // Not awaited: `return` waits behind a pending `next`, which only the end of the request can abort.
    source.return().catch(() => {});
  }
}
