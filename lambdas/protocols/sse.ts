import { createParser } from 'eventsource-parser';

/** One Server-Sent Event with data. */
export type SseEvent = { event?: string; data: string };

/** What a stream sends: an event, or a `comment`, which clients ignore and which keeps it alive. */
export type SseMessage = SseEvent | { comment: string };

/** The messages of one response; each batch is one write. */
export type MessageBatches = AsyncGenerator<SseMessage[], void, void>;

/** Text of one message on the wire. `data` is JSON in one line, so it never needs splitting. */
export const formatSse = (message: SseMessage): string => {
  if ('comment' in message) return `: ${message.comment}\n\n`;
  const event = message.event === undefined ? '' : `event: ${message.event}\n`;
  return `${event}data: ${message.data}\n\n`;
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
