import { type Clock, withTimeout } from '../../support/clock.ts';
import { createJsonFrame } from '../bytes/frame.ts';
import type { BlockHead, GenerationEvent } from '../generation.ts';

/** One Server-Sent Event with data. A client that reconnects sends the last `id` in `Last-Event-ID`. */
export type SseEvent = { id?: string; event?: string; data: string };

/**
 * What a stream sends: an event, a `comment`, which clients ignore and which keeps it alive, or the `text`
 * of messages that are formatted already.
 */
export type SseMessage = SseEvent | { comment: string } | { text: string };

/** The messages of one response; each batch is one write. */
export type MessageBatches = AsyncGenerator<SseMessage[], void, void>;

/** Any of the three ends a line. */
const LINE_END = /\r\n|\r|\n/g;

/** JSON in one line: an upstream may send it in several, and clients that read line by line understand only one. */
const inOneLine = (json: string): string =>
  json.includes('\n') || json.includes('\r') ? json.replaceAll(LINE_END, ' ') : json;

/** Text of one message on the wire. */
export const formatSse = (message: SseMessage): string => {
  if ('comment' in message) return `: ${message.comment}\n\n`;
  if ('text' in message) return message.text;
  const id = message.id === undefined ? '' : `id: ${message.id}\n`;
  const event = message.event === undefined ? '' : `event: ${message.event}\n`;
  return `${id}${event}data: ${inOneLine(message.data)}\n\n`;
};

/** Splits a text that arrives in pieces into lines; each fragment of a long line is copied once. */
const createLineReader = () => {
  let fragments: string[] = [];
  let endsInReturn = false;
  return (text: string): string[] => {
    if (text === '') return [];
    // The second half of a CRLF, whose first half ended the line already.
    const rest = endsInReturn && text.startsWith('\n') ? text.slice(1) : text;
    endsInReturn = text.endsWith('\r');
    // Most bodies have LF only, at which V8 splits several times faster than at a pattern.
    const lines = rest.split(rest.includes('\r') ? LINE_END : '\n');
    const unfinished = lines.pop() ?? '';
    if (lines.length > 0) {
      lines[0] = fragments.join('') + lines[0];
      fragments = [];
    }
    fragments.push(unfinished);
    return lines;
  };
};

/** Splits a line at its colon; a space after it belongs to neither part. */
const readField = (line: string): [string, string] => {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))];
};

const eventOf = (event: string, data: string): SseEvent =>
  event === '' ? { data } : { event, data };

/** Collects the fields of an event up to the blank line after it; comments and other fields are ignored. */
const createEventReader = () => {
  let event = '';
  let data: string | undefined;
  return (line: string): SseEvent | undefined => {
    if (line === '') {
      const complete = data === undefined ? undefined : eventOf(event, data);
      event = '';
      data = undefined;
      return complete;
    }
    const [field, value] = readField(line);
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
    if (field === 'event') event = value;
    return undefined;
  };
};

/**
 * Reads the Server-Sent Events of one body. Bytes may be split anywhere, also inside a UTF-8 character or
 * between CR and LF: the messages are the same.
 */
export const createSseReader = () => {
  const readText = createLineReader();
  const readLine = createEventReader();
  const decoder = new TextDecoder();
  const feed = (text: string): SseEvent[] => {
    const events: SseEvent[] = [];
    for (const line of readText(text)) {
      const event = readLine(line);
      if (event) events.push(event);
    }
    return events;
  };
  return {
    /** Returns the messages that `bytes` complete, in order. */
    push: (bytes: Uint8Array): SseEvent[] => feed(decoder.decode(bytes, { stream: true })),
    /** Returns the last message if the body ended without the blank line after it, as some do. */
    end: (): SseEvent[] => feed(`${decoder.decode()}\n\n`),
  };
};

type StreamReader = { push(message: SseEvent): GenerationEvent[] };

const isProse = ({ type }: BlockHead): boolean => type === 'text' || type === 'thinking';

/**
 * Decodes the texts of a stream without parsing each message: most differ from the one before in the text of a
 * block only, and change nothing else in the decoder. Arguments of tools are left to it, since it collects them.
 */
export const withFrame = <Decoder extends StreamReader>(decoder: Decoder): Decoder => {
  const frame = createJsonFrame();
  const prose = new Set<number>();
  let index = 0;
  let isRelayed = false;

  const learn = (data: string, events: GenerationEvent[]) => {
    for (const event of events) {
      if (event.type === 'block-start' && isProse(event.block)) prose.add(event.index);
    }
    const [only, another] = events;
    if (another || only?.type !== 'block-delta' || !prose.has(only.index)) return frame.forget();
    index = only.index;
    isRelayed = only.received !== undefined;
    const place = frame.learn(data, only.delta);
    if (only.received) only.received.place = place;
  };

  return {
    ...decoder,
    push: (message: SseEvent) => {
      const { data } = message;
      const place = frame.read(data);
      if (place && place.string !== '') {
        const { string: delta } = place;
        if (!isRelayed) return [{ type: 'block-delta', index, delta }];
        return [{ type: 'block-delta', index, delta, received: { data, count: 1, place } }];
      }
      const events = decoder.push(message);
      learn(data, events);
      return events;
    },
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
