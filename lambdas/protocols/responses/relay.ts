import type { ApiError } from '../../support/errors.ts';
import { editsOver, inside, insideEach } from '../bytes/edits.ts';
import { asArray, asNumber, asRecord, asString, type Json, readJsonObject } from '../bytes/json.ts';
import { type Edit, set, spliceText } from '../bytes/splice.ts';
import type {
  EventOf,
  Generation,
  GenerationEvent,
  Received,
  ResponseMeta,
} from '../generation.ts';
import type { StreamEncoder } from '../protocol.ts';
import type { SseMessage } from '../streams/sse.ts';
import { sealThinking } from '../thinking/sealed.ts';
import { createSender } from './encode-stream.ts';
import { missingParts } from './order.ts';
import { type Context, encodeUsage, isCounted, responseId, withText } from './response.ts';

/** The seals of a response's reasoning, in the order of its items. */
const createSeals = () => {
  const texts = new Map<number, string>();
  const seals: string[] = [];
  const read = (event: GenerationEvent) => {
    if (event.type === 'block-start' && event.block.type === 'thinking') texts.set(event.index, '');
    if (!('index' in event) || !texts.has(event.index)) return;
    const text = texts.get(event.index) ?? '';
    if (event.type === 'block-delta') texts.set(event.index, text + event.delta);
    if (event.type === 'block-end' && event.signature !== undefined) {
      seals.push(sealThinking({ text, signature: event.signature }));
    }
  };
  return { read, seals };
};

const isSealed = (item: unknown): boolean => {
  const { type, encrypted_content } = asRecord(item) ?? {};
  return type === 'reasoning' && Boolean(encrypted_content);
};

const sealEdits = (response: Json, seals: string[]): Edit[] => {
  let count = 0;
  return insideEach(response, 'output', (item) => {
    const seal = isSealed(item) ? seals[count++] : undefined;
    return seal === undefined ? [] : [set(['encrypted_content'], seal)];
  });
};

/** The router's names, and its counts in place of those that the upstream left out or that are no counts. */
const namesOf = ({ usage: wire }: Json, meta: ResponseMeta, end?: Pick<Generation, 'usage'>) => {
  const sent = asRecord(wire);
  const usage = end && !isCounted(sent) ? encodeUsage(end.usage, meta.estimateInput) : sent && {};
  return { id: responseId(meta), model: meta.model, ...(usage && { usage }) };
};

/** What makes a whole response of the vendor's one for its caller. `encode`: for one whose text came in deltas only. */
export const overlayOf = (
  value: Json,
  generation: Generation,
  meta: ResponseMeta,
  encode: () => Json,
): Json => {
  const { blocks } = generation;
  const output = asArray(value.output);
  const seals = blocks.flatMap((block) =>
    block.type === 'thinking' && block.signature !== undefined ? [sealThinking(block)] : [],
  );
  const saidBy = ({ call_id }: Json): string | undefined => {
    const call = blocks.find((block) => block.type === 'tool-call' && block.id === call_id);
    return call?.type === 'tool-call' ? call.arguments : undefined;
  };
  let count = 0;
  return {
    ...namesOf(value, meta, generation),
    output:
      output.length === 0
        ? encode().output
        : output.map((sent) => {
            const item = asRecord(sent) ?? {};
            return {
              ...missingParts(item, saidBy(item)),
              ...(isSealed(item) && { encrypted_content: seals[count++] }),
            };
          }),
  };
};

/** What a stream has sent, so that it can be ended at any event. */
const createSent = (context: Context) => {
  let response: Json = {};
  const sender = createSender();
  const open = new Map<number, { item: Json; text: string }>();
  const output: Json[] = [];

  /** Of an event that has no number, or another one. */
  const numbered = ({ sequence_number: sent }: Json): Edit[] =>
    sent === sender.number() ? [] : [set(['sequence_number'], sender.number())];

  const note = (event: Json) => {
    sender.count();
    const index = asNumber(event.output_index) ?? 0;
    const item = asRecord(event.item);
    const begun = open.get(index);
    if (event.type === 'response.created') response = asRecord(event.response) ?? {};
    if (event.type === 'response.output_item.added' && item) open.set(index, { item, text: '' });
    else if (event.type === 'response.output_item.done' && item) {
      open.delete(index);
      output[index] = item;
    } else if (begun && typeof event.delta === 'string') begun.text += event.delta;
  };

  const responseAs = (fields: Json): Json => {
    const { meta } = context;
    const own = { ...response, id: responseId(meta), model: meta.model };
    return { ...own, output: output.filter(Boolean), ...fields };
  };

  /** Ends what is open. */
  const cut = (): SseMessage[] => {
    const ended = [...open].map(([index, { item, text }]) => {
      output[index] = { ...withText(item, text), status: 'incomplete' };
      return sender.event('output_item.done', { output_index: index, item: output[index] });
    });
    const incomplete_details = { reason: 'max_output_tokens' };
    const response = responseAs({ status: 'incomplete', incomplete_details });
    return [...ended, sender.event('incomplete', { response })];
  };

  const fail = (error: ApiError): SseMessage[] => {
    const isBegun = sender.number() === 1;
    const going = isBegun ? [sender.event('in_progress', { response: responseAs({}) })] : [];
    return [...going, ...sender.failure(error, responseAs)];
  };
  return { note, numbered, cut, fail };
};

/**
 * Sends the messages of an upstream of the protocol with edits. From an event that was not received, such as the end at a
 * deadline, it ends what it has sent. `encoder`: for the responses of other upstreams.
 */
export const relaying = (encoder: StreamEncoder, context: Context): StreamEncoder => {
  const { read, seals } = createSeals();
  const sent = createSent(context);
  let isRelaying = false;
  let count = 0;

  const editsOf = (event: Json, end: EventOf<'finish'> | undefined): Edit[] => {
    const response = asRecord(event.response);
    if (response) {
      const named = editsOver(response, namesOf(response, context.meta, end));
      return inside(['response'], [...named, ...sealEdits(response, seals)]);
    }
    const seal = event.type === 'response.output_item.done' && isSealed(event.item) && seals.at(-1);
    return seal ? [set(['item', 'encrypted_content'], seal)] : [];
  };

  const relay = ({ data, value }: Received, end?: EventOf<'finish'>): SseMessage[] => {
    const event = value ?? readJsonObject(data) ?? {};
    const name = asString(event.type);
    // No event of the protocol, e.g. an error of a server in its own form.
    if (name === undefined) return [];
    const edits = [...editsOf(event, end), ...sent.numbered(event)];
    const text = spliceText(data, edits);
    sent.note(edits.length === 0 ? event : (readJsonObject(text) ?? event));
    return [{ event: name, data: text }];
  };

  const push = (event: GenerationEvent): SseMessage[] => {
    read(event);
    const { received } = event;
    if (received) {
      isRelaying = true;
      count = (count + 1) % received.count;
      if (count > 0) return [];
      return relay(received, event.type === 'finish' ? event : undefined);
    }
    if (!isRelaying) return encoder.push(event);
    return event.type === 'finish' ? sent.cut() : [];
  };

  return {
    push,
    fail: (error, requestId) => (isRelaying ? sent.fail(error) : encoder.fail(error, requestId)),
  };
};
