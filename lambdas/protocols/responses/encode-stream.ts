import type { ApiError } from '../../support/errors.ts';
import type {
  BlockHead,
  EventOf,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../generation.ts';
import type { Json } from '../json.ts';
import type { StreamEncoder } from '../protocol.ts';
import { type BlockEvent, type BlockWriter, createSequencer } from '../sequencer.ts';
import type { SseMessage } from '../sse.ts';
import { errorFields, failureOf } from './error.ts';
import {
  callItem,
  endedResponse,
  endOf,
  type ItemStatus,
  itemId,
  messageItem,
  partOf,
  reasoningItem,
  responseOf,
  summaryPart,
} from './response.ts';
import { sealThinking } from './sealed-thinking.ts';
import { callerNameOf, unwrapInput } from './tools.ts';

/** Writes an event of the stream; every one has a number, without gaps. */
type Send = (type: string, fields: Json) => SseMessage;

const createSend = (first: number): Send => {
  let next = first;
  return (type, fields) => ({
    event: type,
    data: JSON.stringify({ type, ...fields, sequence_number: next++ }),
  });
};

/** The events of one item between `output_item.added` and `output_item.done`. */
type ItemEvents = {
  /** The item as it is added, still empty. */
  added: Json;
  start(): SseMessage[];
  delta(text: string): SseMessage[];
  /** Ends the content with its whole text. */
  end(text: string): SseMessage[];
  /** The item as it is done. */
  done(text: string, signature: string | undefined, status: ItemStatus): Json;
};

type Place = { item_id: string; output_index: number };

const messageEvents = (send: Send, place: Place, isRefusal: boolean | undefined): ItemEvents => {
  const where = { ...place, content_index: 0 };
  const kind = isRefusal ? 'refusal' : 'output_text';
  const logprobs = isRefusal ? {} : { logprobs: [] };
  const { item_id: id } = place;
  return {
    added: messageItem(id, [], 'in_progress'),
    start: () => [send('response.content_part.added', { ...where, part: partOf('', isRefusal) })],
    delta: (delta) => [send(`response.${kind}.delta`, { ...where, delta, ...logprobs })],
    end: (text) => [
      send(`response.${kind}.done`, {
        ...where,
        ...(isRefusal ? { refusal: text } : { text, logprobs: [] }),
      }),
      send('response.content_part.done', { ...where, part: partOf(text, isRefusal) }),
    ],
    done: (text, _, status) => messageItem(id, [partOf(text, isRefusal)], status),
  };
};

const reasoningEvents = (send: Send, place: Place, redacted: true | undefined): ItemEvents => {
  const where = { ...place, summary_index: 0 };
  const { item_id: id } = place;
  let hasPart = false;
  return {
    added: reasoningItem(id, '', null),
    start: () => [],
    delta: (delta) => {
      const opening = hasPart
        ? []
        : [send('response.reasoning_summary_part.added', { ...where, part: summaryPart('') })];
      hasPart = true;
      return [...opening, send('response.reasoning_summary_text.delta', { ...where, delta })];
    },
    end: (text) =>
      hasPart
        ? [
            send('response.reasoning_summary_text.done', { ...where, text }),
            send('response.reasoning_summary_part.done', { ...where, part: summaryPart(text) }),
          ]
        : [],
    done: (text, signature = '', _) =>
      reasoningItem(id, text, sealThinking({ text, signature, ...(redacted && { redacted }) })),
  };
};

type Call = BlockHead & { type: 'tool-call' };

const callEvents = (
  send: Send,
  place: Place,
  call: Call,
  request: GenerationRequest,
): ItemEvents => {
  const { isCustom } = callerNameOf(request, call.name);
  const item = (text: string, status: ItemStatus) =>
    callItem(place.item_id, call, request, { text, status });
  if (!isCustom) {
    const kind = 'response.function_call_arguments';
    return {
      added: item('', 'in_progress'),
      start: () => [],
      delta: (delta) => [send(`${kind}.delta`, { ...place, delta })],
      end: (text) => [
        ...(text === '' ? [send(`${kind}.delta`, { ...place, delta: '{}' })] : []),
        send(`${kind}.done`, { ...place, arguments: text || '{}' }),
      ],
      done: (text, _, status) => item(text || '{}', status),
    };
  }
  const kind = 'response.custom_tool_call_input';
  return {
    added: item('', 'in_progress'),
    start: () => [],
    // The arguments of the function that represents the tool are not a text before they are whole.
    delta: () => [],
    end: (text) => {
      const input = unwrapInput(text);
      return [
        send(`${kind}.delta`, { ...place, delta: input }),
        send(`${kind}.done`, { ...place, input }),
      ];
    },
    done: (text, _, status) => item(text, status),
  };
};

/** Writes blocks as items, one after the other, and collects the items that are done. */
const createItemWriter = (send: Send, request: GenerationRequest, meta: ResponseMeta) => {
  const output: Json[] = [];
  let current: { events: ItemEvents; text: string } | undefined;
  /** The last item: its status depends on what follows, another item or the finish. */
  let ended: ((status: ItemStatus) => Json) | undefined;
  let hasRefusal = false;

  const flush = (status: ItemStatus): SseMessage[] => {
    if (!ended) return [];
    const item = ended(status);
    ended = undefined;
    output.push(item);
    return [send('response.output_item.done', { output_index: output.length - 1, item })];
  };

  const eventsOf = (head: Exclude<BlockHead, { type: 'native' }>, index: number): ItemEvents => {
    const place = { item_id: itemId(head, index, { request, meta }), output_index: index };
    if (head.type === 'tool-call') return callEvents(send, place, head, request);
    if (head.type === 'thinking') return reasoningEvents(send, place, head.redacted);
    hasRefusal ||= head.refusal === true;
    return messageEvents(send, place, head.refusal);
  };

  const start = (head: BlockHead): SseMessage[] => {
    if (current || head.type === 'native') return [];
    const before = flush('completed');
    const index = output.length;
    const events = eventsOf(head, index);
    current = { events, text: '' };
    const added = send('response.output_item.added', { output_index: index, item: events.added });
    return [...before, added, ...events.start()];
  };

  const append = (head: BlockHead, delta: string): SseMessage[] => {
    const opening = start(head);
    if (!current) return opening;
    current.text += delta;
    return [...opening, ...current.events.delta(delta)];
  };

  const end = (head: BlockHead, signature: string | undefined): SseMessage[] => {
    // Skips an empty block of prose, except thinking that only its signature proves.
    const isEmpty = !current && (head.type === 'text' || signature === undefined);
    const opening = isEmpty ? [] : start(head);
    if (!current) return opening;
    const { events, text } = current;
    current = undefined;
    ended = (status) => events.done(text, signature, status);
    return [...opening, ...events.end(text)];
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

/** `first`: the number of the next event, of a stream that has begun. */
export const streamEncoder = (
  request: GenerationRequest,
  meta: ResponseMeta,
  first = 0,
): StreamEncoder => {
  const send = createSend(first);
  const items = createItemWriter(send, request, meta);
  const blocks = createSequencer(items.writer, ({ type }) => type !== 'native');
  let isOpen = first > 0;

  const open = (): SseMessage[] => {
    if (isOpen) return [];
    isOpen = true;
    const response = responseOf(request, meta, { status: 'in_progress' });
    return [send('response.created', { response }), send('response.in_progress', { response })];
  };

  const finish = ({ reason, usage }: EventOf<'finish'>): SseMessage[] => {
    const end = endOf(reason, items.hasRefusal());
    const last = items.flush(end.status);
    const response = endedResponse(request, meta, { end, output: items.output, usage });
    return [...last, send(`response.${end.status}`, { response })];
  };

  const push = (event: GenerationEvent): SseMessage[] => {
    switch (event.type) {
      case 'start':
        return open();
      case 'block-start':
        return blocks.start(event);
      case 'finish':
        return finish(event);
      default:
        return blocks.append(event);
    }
  };

  return {
    push,
    // One SDK raises on `error` at the top, the other on its nested form, agents on the failed response.
    fail: (error: ApiError) => {
      const fields = errorFields(error);
      const { type: _, ...flat } = fields;
      const failure = failureOf(error);
      const response = responseOf(request, meta, { status: 'failed', error: failure });
      return [
        ...open(),
        send('error', { ...flat, error: fields }),
        send('response.failed', { response: { ...response, output: items.output } }),
      ];
    },
  };
};

/** The number of an event is the last member of its data, which is one line. */
const NUMBER = /"sequence_number":(\d+)\}$/gm;

/** Number of the event that follows a text of complete messages. */
export const numberAfter = (sent: string): number =>
  [...sent.matchAll(NUMBER)].reduce((_, [, number]) => Number(number) + 1, 0);
