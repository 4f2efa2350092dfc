import { isEmpty } from '../../support/objects.ts';
import { editsOver, hide } from '../bytes/edits.ts';
import { asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, set } from '../bytes/splice.ts';
import type { BlockHead, GenerationEvent, GenerationRequest } from '../generation.ts';
import { type Decoded, edited, type Relay } from '../streams/relay.ts';
import type { SseMessage } from '../streams/sse.ts';
import { Answer } from './answer.ts';
import { messageId } from './ids.ts';

/** An event of the upstream's, parsed. */
type Event = { data: string; value: Json };
type Sent = SseMessage[] | undefined;

const sendEdited = ({ data, value }: Event, edits: readonly Edit[] = []): SseMessage =>
  edited(data, edits, value.type);

/** What the encoder wrote, as a value. */
const encodedValue = (message: SseMessage | undefined): Json =>
  message && 'data' in message ? JSON.parse(message.data) : {};

/** The field of the kinds of delta that have content, and their kind of block. */
const CONTENT = new Map([
  ['text_delta', ['text', 'text']],
  ['thinking_delta', ['thinking', 'thinking']],
  ['input_json_delta', ['partial_json', 'tool_use']],
]);

/** The router's names and, for an input that the upstream did not count, its estimate. */
const startEdits = (value: Json, encoded: SseMessage[], request: GenerationRequest): Edit[] => {
  const message = asRecord(value.message) ?? {};
  const wanted = encodedValue(encoded[0]);
  const own = asRecord(wanted.message) ?? {};
  const id = messageId(String(own.id).replace('msg_', ''), request, message);
  const usage = { ...asRecord(own.usage), cache_creation: null };
  return editsOver(value, { ...wanted, message: { ...own, id, usage } }, Answer);
};

/** Whether the text of a block is one. */
const isReadable = (block: Json): boolean =>
  (block.type !== 'text' || typeof block.text === 'string') &&
  (block.type !== 'thinking' || typeof block.thinking === 'string');

/** Whether a call's input is in its start, where SDKs do not read it. */
const hasInput = ({ type, input }: Json): boolean =>
  type === 'tool_use' && (Boolean(asString(input)) || !isEmpty(asRecord(input) ?? {}));

const headOf = ([first]: GenerationEvent[]): BlockHead | undefined =>
  first?.type === 'block-start' ? first.block : undefined;

/** The id of a call, and no signature of thinking: it gets its origin at the end of the block. */
const blockEdits = ({ value }: Event, { events, encoded }: Decoded): Edit[] => {
  const head = headOf(events);
  if (head?.type === 'native') return [];
  if (head?.type === 'tool-call') return editsOver(value, encodedValue(encoded[0]));
  const content_block = head?.type === 'thinking' ? { signature: '' } : {};
  return editsOver(value, { content_block }, Answer);
};

/** What clients could not add up: content other than text, and what is for another kind of block. */
const isUnfit = (delta: Json, block: Json): boolean => {
  const type = asString(delta.type) ?? '';
  const [field = ''] = CONTENT.get(type) ?? [];
  if (type === 'citations_delta') return block.type !== 'text';
  return type === '' || (field !== '' && typeof delta[field] !== 'string');
};

/** White space before arguments, which alone would be no JSON, is left out, and a delta of nothing else. */
const deltaOf = (event: Event, [first]: GenerationEvent[], block: Json): SseMessage[] => {
  const delta = asRecord(event.value.delta) ?? {};
  const [field = '', kind] = CONTENT.get(String(delta.type)) ?? [];
  const wanted = first?.type === 'block-delta' ? first.delta : '';
  if (kind !== block.type || wanted === delta[field]) return [sendEdited(event)];
  return wanted === '' ? [] : [sendEdited(event, [set(['delta', field], wanted)])];
};

/** An open block, and what waits for its end. */
type OpenBlock = { block: Json; redacted?: Event; signature?: Event };

/** Relays the events of blocks that are in order and one after the other. */
const createBlockRelay = () => {
  let index = -1;
  let open: OpenBlock | undefined;

  const start = (event: Event, decoded: Decoded): Sent => {
    const { content_block, index: own } = event.value;
    const block = asRecord(content_block) ?? {};
    const head = headOf(decoded.events);
    const isCustom = head?.type === 'tool-call' && head.custom;
    if (open || own !== index + 1 || isCustom) return undefined;
    if (hasInput(block) || !isReadable(block)) return undefined;
    index += 1;
    open = { block };
    if (head?.type !== 'thinking' || !head.redacted) {
      return [sendEdited(event, blockEdits(event, decoded))];
    }
    open.redacted = event;
    return [];
  };

  const append = (event: Event, { events }: Decoded): Sent => {
    const delta = asRecord(event.value.delta) ?? {};
    if (!open || event.value.index !== index) return undefined;
    const { block } = open;
    if (headOf(events.slice(1))) return undefined;
    if (delta.type === 'signature_delta') {
      if (block.type === 'thinking') open.signature = event;
      return [];
    }
    return isUnfit(delta, block) ? [] : deltaOf(event, events, block);
  };

  /** Thinking without a signature gets one with its origin, so that its upstream gets it back. */
  const stop = (event: Event, { encoded }: Decoded): Sent => {
    if (!open) return [];
    const { block, redacted, signature } = open;
    const proof = encoded.slice(0, -1);
    const isLate = proof.length > 1 || (proof.length === 1 && block.type === 'tool_use');
    if (event.value.index !== index || isLate) return undefined;
    open = undefined;
    const waiting = redacted ?? signature;
    const signed = waiting
      ? [sendEdited(waiting, editsOver(waiting.value, encodedValue(proof[0])))]
      : proof;
    return [...signed, sendEdited(event)];
  };

  return { start, append, stop, isOpen: () => open !== undefined };
};

/** Relays the events of one message. Its end waits for the counts. */
export const createRelay = (request: GenerationRequest): Relay => {
  const blocks = createBlockRelay();
  let isStarted = false;
  let end: Event | undefined;

  const start = (event: Event, { encoded }: Decoded): SseMessage[] => {
    // Some proxies send it twice.
    if (isStarted) return [];
    isStarted = true;
    return [sendEdited(event, startEdits(event.value, encoded, request))];
  };

  const endMessage = (event: Event): Sent => {
    const { stop_reason } = asRecord(event.value.delta) ?? {};
    // What an earlier one counts, the last one counts too.
    if (!stop_reason) return [];
    if (end || blocks.isOpen()) return undefined;
    end = event;
    return [];
  };

  const finish = (data: string, value: Json | undefined, encoded: SseMessage[]): Sent => {
    const [delta, stop, more] = encoded;
    if (!end || blocks.isOpen() || more || !delta || !stop) return undefined;
    const isStop = value?.type === 'message_stop';
    return [
      sendEdited(end, editsOver(end.value, encodedValue(delta), Answer)),
      isStop ? sendEdited({ data, value }, hide(value)) : stop,
    ];
  };

  const relayStarted = (event: Event, decoded: Decoded): Sent => {
    switch (event.value.type) {
      case 'content_block_start':
        return blocks.start(event, decoded);
      case 'content_block_delta':
        return blocks.append(event, decoded);
      case 'content_block_stop':
        return blocks.stop(event, decoded);
      case 'message_delta':
        return endMessage(event);
      default:
        return asString(event.value.type) ? [sendEdited(event)] : [];
    }
  };

  return (decoded) => {
    const { data, value, events, encoded } = decoded;
    if (events.at(-1)?.type === 'finish') return finish(data, value, encoded);
    if (!value) return [];
    const event = { data, value };
    if (value.type === 'message_start') return start(event, decoded);
    if ((!isStarted || end) && !events.every(({ type }) => type === 'aside')) return undefined;
    return isStarted ? relayStarted(event, decoded) : [];
  };
};
