import { createParser } from 'eventsource-parser';

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
