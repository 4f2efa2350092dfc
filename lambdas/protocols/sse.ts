import { createParser } from 'eventsource-parser';

/** One Server-Sent Event. A `comment` keeps a connection alive and means nothing. */
export type SseMessage = { event?: string; data: string } | { comment: string };

/** Text of one message on the wire. `data` is JSON in one line, so it never needs splitting. */
export const formatSse = (message: SseMessage): string => {
  if ('comment' in message) return `: ${message.comment}\n\n`;
  const event = message.event === undefined ? '' : `event: ${message.event}\n`;
  return `${event}data: ${message.data}\n\n`;
};

/**
 * Bytes of an upstream in, messages out, one array per network chunk so that a chunk stays one write.
 * Splits anywhere (inside a UTF-8 character, between CR and LF) give the same messages.
 */
export async function* parseSse(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ event?: string; data: string }[]> {
  let messages: { event?: string; data: string }[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => messages.push(event === undefined ? { data } : { event, data }),
  });
  const decoder = new TextDecoder();
  const take = (text: string) => {
    parser.feed(text);
    const taken = messages;
    messages = [];
    return taken;
  };
  for await (const chunk of chunks) {
    const taken = take(decoder.decode(chunk, { stream: true }));
    // An empty batch still says that the upstream is alive.
    yield taken;
  }
  // Some upstreams close without the blank line that ends the last message.
  const rest = take(`${decoder.decode()}\n\n`);
  if (rest.length > 0) yield rest;
}
