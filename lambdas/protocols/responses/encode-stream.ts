import type { ApiError } from '../../support/errors.ts';
import { jsonTemplate } from '../bytes/frame.ts';
import type { Json } from '../bytes/json.ts';
import type {
  BlockHead,
  EventOf,
  GenerationRequest,
  NativeBlock,
  ResponseMeta,
} from '../generation.ts';
import type { StreamEncoder } from '../protocol.ts';
import { type BlockEvent, type BlockWriter, createSequencer } from '../streams/sequencer.ts';
import type { SseEvent, SseMessage } from '../streams/sse.ts';
import { errorFields, failureOf } from './error.ts';
import {
  type Context,
  endedResponse,
  endOf,
  ITEM_TEXTS,
  type ItemBlock,
  type ItemStatus,
  itemOf,
  responseOf,
} from './response.ts';
import { clientItemOf, isClientCall } from './tools.ts';

/** Writes the events of a stream; every one has a number, without gaps. */
export const createSender = (first = 0) => {
  let next = first;
  const typeOf = (name: string) => (name === 'error' ? name : `response.${name}`);
  const jsonOf = (name: string, fields: Json) => JSON.stringify({ type: typeOf(name), ...fields });
  const send = (name: string, json: string): SseEvent => ({
    event: typeOf(name),
    data: `${json.slice(0, -1)},"sequence_number":${next++}}`,
  });
  const event = (name: string, fields: Json) => send(name, jsonOf(name, fields));
  return {
    event,
    /** The last events of a stream that fails: one SDK raises on `error` at the top, the other on its nested form, agents on the response. */
    failure: (error: ApiError, responseAs: (fields: Json) => Json) => {
      const fields = errorFields(error);
      const { type: _, ...flat } = fields;
      const response = responseAs({ status: 'failed', error: failureOf(error) });
      return [event('error', { ...flat, error: fields }), event('failed', { response })];
    },
    /** Of the next event. */
    number: () => next,
    /** Counts an event that another one wrote. */
    count: () => {
      next += 1;
    },
    /** Returns a function that sends events which differ in a text. */
    texts: (name: string, fieldsOf: (text: string) => Json) => {
      const write = jsonTemplate((text) => jsonOf(name, fieldsOf(text)));
      return (text: string) => send(name, write(text));
    },
  };
};

type Sender = ReturnType<typeof createSender>;

// --- items ---

type ItemHead = Exclude<BlockHead, NativeBlock>;

const blockOf = (head: ItemHead, text: string, signature?: string): ItemBlock => {
  if (head.type === 'tool-call') return { ...head, arguments: text };
  return { ...head, text, ...(signature !== undefined && { signature }) };
};

const kindOf = (head: ItemHead): string => {
  if (head.type === 'thinking') return 'reasoning';
  if (head.type === 'text') return head.refusal ? 'refusal' : 'message';
  return head.custom ? 'custom_tool_call' : 'function_call';
};

/** Writes one item, from `output_item.added` to the end of its text. */
type Item = {
  added: SseMessage[];
  append(delta: string): SseMessage[];
  end(): SseMessage[];
  /** The whole item. */
  done: (signature: string | undefined, status: ItemStatus) => Json;
};

const createItem = (sender: Sender, head: ItemHead, index: number, context: Context): Item => {
  const kind = kindOf(head);
  const events = ITEM_TEXTS[kind] ?? { name: kind, member: kind };
  const added = itemOf(blockOf(head, ''), index, 'in_progress', context);
  const place = { item_id: added.id, output_index: index, ...events.position };
  const sendText = sender.texts(`${events.name}.delta`, (delta) => {
    return { ...place, delta, ...events.rest };
  });
  let text = '';
  let hasDelta = false;

  const partEvent = (suffix: string, content: string): SseMessage[] => {
    const { part } = events;
    return part
      ? [sender.event(`${part.name}.${suffix}`, { ...place, part: part.of(content) })]
      : [];
  };
  const sendDelta = (delta: string): SseMessage[] => {
    const opening = hasDelta ? [] : partEvent('added', '');
    hasDelta = true;
    return [...opening, sendText(delta)];
  };
  return {
    added: [sender.event('output_item.added', { output_index: index, item: added })],
    append: (delta) => {
      text += delta;
      return sendDelta(delta);
    },
    end: () => {
      // Redacted thinking has no text.
      if (events.part && !hasDelta) return [];
      const whole = text === '' && kind === 'function_call' ? '{}' : text;
      const late = hasDelta ? [] : sendDelta(whole);
      const fields = { ...place, [events.member]: whole, ...events.rest };
      return [...late, sender.event(`${events.name}.done`, fields), ...partEvent('done', whole)];
    },
    done: (signature, status) => itemOf(blockOf(head, text, signature), index, status, context),
  };
};

/** A call of a tool that the caller's machine runs: what to do is one value, known when the arguments are whole. */
const createClientItem = (
  sender: Sender,
  head: Extract<ItemHead, { type: 'tool-call' }>,
  index: number,
  context: Context,
): Item => {
  let text = '';
  const itemAs = (status: ItemStatus) => itemOf(blockOf(head, text), index, status, context);
  return {
    added: [],
    append: (delta) => {
      text += delta;
      return [];
    },
    end: () => {
      const item = itemAs('in_progress');
      if (clientItemOf(context.request, head.name, text)) {
        return [sender.event('output_item.added', { output_index: index, item })];
      }
      const called = createItem(sender, head, index, context);
      return [...called.added, ...called.append(text), ...called.end()];
    },
    done: (_signature, status) => itemAs(status),
  };
};

/** Writes blocks as items, one after the other, and collects the items that are done. */
const createItemWriter = (sender: Sender, context: Context) => {
  const output: Json[] = [];
  let current: Item | undefined;
  /** The last item: its status depends on what follows, another item or the finish. */
  let ended: ((status: ItemStatus) => Json) | undefined;
  let hasRefusal = false;

  const flush = (status: ItemStatus): SseMessage[] => {
    if (!ended) return [];
    const item = ended(status);
    ended = undefined;
    output.push(item);
    return [sender.event('output_item.done', { output_index: output.length - 1, item })];
  };

  const open = (head: ItemHead): Item =>
    head.type === 'tool-call' && isClientCall(context.request, head.name)
      ? createClientItem(sender, head, output.length, context)
      : createItem(sender, head, output.length, context);

  const start = (head: BlockHead): SseMessage[] => {
    if (current || head.type === 'native') return [];
    hasRefusal ||= head.type === 'text' && head.refusal === true;
    const before = flush('completed');
    current = open(head);
    return [...before, ...current.added];
  };

  const append = (head: BlockHead, delta: string): SseMessage[] => {
    const opening = start(head);
    return [...opening, ...(current?.append(delta) ?? [])];
  };

  const end = (head: BlockHead, signature: string | undefined): SseMessage[] => {
    // Skips an empty block of prose, except thinking that only its signature proves.
    const isEmpty = !current && (head.type === 'text' || signature === undefined);
    const opening = isEmpty ? [] : start(head);
    const item = current;
    if (!item) return opening;
    current = undefined;
    ended = (status) => item.done(signature, status);
    return [...opening, ...item.end()];
  };

  const writer: BlockWriter = {
    begin: (head) => (head.type === 'tool-call' ? start(head) : []),
    write: (head: BlockHead, event: BlockEvent) => {
      if (event.type === 'block-end') return end(head, event.signature);
      return event.type === 'block-delta' ? append(head, event.delta) : [];
    },
  };
  return { writer, flush, output, hasRefusal: () => hasRefusal };
};

// --- the stream ---

/** `first`: the number of the next event, of a stream that has begun. */
export const streamEncoder = (
  request: GenerationRequest,
  meta: ResponseMeta,
  first = 0,
): StreamEncoder => {
  const context = { request, meta };
  const sender = createSender(first);
  const items = createItemWriter(sender, context);
  let isOpen = first > 0;

  const open = (): SseMessage[] => {
    if (isOpen) return [];
    isOpen = true;
    const response = responseOf(context, { status: 'in_progress' });
    return [sender.event('created', { response }), sender.event('in_progress', { response })];
  };

  const finish = (event: EventOf<'finish'>): SseMessage[] => {
    const end = endOf(event.reason, items.hasRefusal());
    const last = items.flush(end.status);
    const response = endedResponse(context, event, items.output, end);
    return [...last, sender.event(end.status, { response })];
  };

  const isWritable = ({ type }: BlockHead) => type !== 'native';
  return {
    ...createSequencer({ ...items.writer, isWritable, start: open, finish }),
    fail: (error: ApiError) => [
      ...open(),
      ...sender.failure(error, (fields) =>
        responseOf(context, { ...fields, output: items.output }),
      ),
    ],
  };
};

/** The number of an event; in a text of the data its quotation marks are escaped. */
const NUMBER = /[{,]"sequence_number": ?(\d+)[,}]/g;

/** Number of the event that follows a text of complete messages. */
export const numberAfter = (sent: string): number =>
  [...sent.matchAll(NUMBER)].reduce((_, [, number]) => Number(number) + 1, 0);
