import { createEventWriter, type EventWriter } from '../event-writer.ts';
import { extrasIfAny } from '../extras.ts';
import type { BlockHead, FinishReason, GenerationEvent, GenerationRequest } from '../generation.ts';
import { asRecord, asString, type Json, parseUpstreamJson, readJsonObject } from '../json.ts';
import type { StreamDecoder } from '../protocol.ts';
import { createToolIds } from '../tool-ids.ts';
import { UpstreamFault } from '../upstream-fault.ts';
import { plainToolId } from './ids.ts';
import { NAME } from './name.ts';
import { decodeStopReason } from './stop-reason.ts';
import { decodeUsage, readUsage, type WireUsage } from './usage.ts';

type UniqueId = (wanted: string | undefined) => string;

const toolHead = (block: Json, uniqueId: UniqueId): BlockHead => {
  const name = asString(block.name) ?? '';
  if (name === '') throw new UpstreamFault('malformed', 'a tool call lacks its name');
  const id = uniqueId(plainToolId(asString(block.id) ?? ''));
  // Who called: the model, or a program that the upstream runs. Callers send it back.
  const caller = asRecord(block.caller);
  return { type: 'tool-call', id, name, ...extrasIfAny(NAME, { caller }) };
};

const headOf = (block: Json, uniqueId: UniqueId): BlockHead => {
  switch (block.type) {
    case 'text':
      return { type: 'text' };
    case 'thinking':
      return { type: 'thinking' };
    case 'redacted_thinking':
      return { type: 'thinking', redacted: true };
    case 'tool_use':
      return toolHead(block, uniqueId);
    default:
      // Kinds of block to come go on to callers of this family; what has no kind cannot.
      if (!asString(block.type)) throw new UpstreamFault('malformed', 'a block without a type');
      return { type: 'foreign', protocol: NAME, value: block };
  }
};

/** What a block may hold from its start on, beside what its deltas bring. */
const initialText = (block: Json): string =>
  asString(block.type === 'thinking' ? block.thinking : block.text) ?? '';

const initialArguments = (block: Json): string => {
  const input = asRecord(block.input);
  return input && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
};

/** A stop sequence may come first of all; and nothing is generated when nothing is asked for. */
export const mayBeEmpty = ({ stop = [], maxTokens }: GenerationRequest): boolean =>
  stop.length > 0 || maxTokens === 0;

/** Kinds of delta that carry content, and where. */
const CONTENT = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
]);

/** A delta of a block of another kind, as it may go on: SDKs add up content without looking. */
const passable = (delta: Json): Json | undefined => {
  const type = asString(delta.type);
  const field = CONTENT.get(type ?? '');
  if (!type || field === undefined) return type ? delta : undefined;
  return asString(delta[field]) ? { type, [field]: delta[field] } : undefined;
};

/** Reads content blocks, streamed or whole, by their index on the wire. */
export const createBlockReader = (request: GenerationRequest, writer: EventWriter) => {
  const uniqueId = createToolIds(request);
  const heads = new Map<string, BlockHead>();
  const signatures = new Map<string, string>();
  /** Input given whole at the start counts only if no fragments follow. */
  const wholeInputs = new Map<string, string>();

  const start = (key: string, block: Json) => {
    // A block that is started again has ended, with its input and its signature.
    stop(key);
    const head = headOf(block, uniqueId);
    heads.set(key, head);
    writer.open(key, head);
    if (head.type === 'tool-call') wholeInputs.set(key, initialArguments(block));
    if (head.type === 'thinking') {
      signatures.set(key, asString(block[head.redacted ? 'data' : 'signature']) ?? '');
    }
    if (head.type === 'text' || (head.type === 'thinking' && !head.redacted)) {
      writer.delta(key, initialText(block));
    }
  };

  const extra = (key: string, fields: Json | undefined) => {
    if (fields) writer.extra(key, { protocol: NAME, fields });
  };

  const appendArguments = (key: string, text: string) => {
    if (text !== '') wholeInputs.delete(key);
    writer.delta(key, text);
  };

  const append = (key: string, delta: Json) => {
    const head = heads.get(key);
    if (head?.type === 'foreign') return extra(key, passable(delta));
    switch (`${head?.type} ${asString(delta.type)}`) {
      case 'text text_delta':
        return writer.delta(key, asString(delta.text) ?? '');
      case 'text citations_delta':
        return extra(key, delta);
      case 'thinking thinking_delta':
        return writer.delta(key, asString(delta.thinking) ?? '');
      case 'thinking signature_delta':
        signatures.set(key, (signatures.get(key) ?? '') + (asString(delta.signature) ?? ''));
        return undefined;
      case 'tool-call input_json_delta':
        return appendArguments(key, asString(delta.partial_json) ?? '');
      default:
        return assertHarmless(key, delta);
    }
  };

  /** Kinds of delta to come are passed over; a known kind in the wrong block would lose content. */
  const assertHarmless = (key: string, delta: Json) => {
    const type = asString(delta.type) ?? '';
    if (!CONTENT.has(type)) return;
    throw new UpstreamFault('malformed', `${type} for block ${key}, which takes none`);
  };

  const stop = (key: string) => {
    const input = wholeInputs.get(key) ?? '';
    if (writer.isOpen(key)) writer.delta(key, input);
    wholeInputs.delete(key);
    writer.close(key, signatures.get(key) || undefined);
    signatures.delete(key);
  };

  /** Some upstreams never stop their blocks; signatures and inputs must not be lost with that. */
  const stopAll = () => {
    for (const key of heads.keys()) stop(key);
  };

  return { start, append, stop, stopAll };
};

/** An upstream, or a proxy before it, may send its opening twice; another one's is another answer. */
const assertSameMessage = (known: string | undefined, id: string | undefined) => {
  if (known === undefined || id === undefined || known === id) return;
  throw new UpstreamFault('malformed', 'two messages in one stream');
};

export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const writer = createEventWriter({ mayBeEmpty: mayBeEmpty(request) });
  const blocks = createBlockReader(request, writer);
  let messageId: string | undefined;
  let usage: WireUsage = {};
  let reason: FinishReason | undefined;

  const conclude = (): GenerationEvent[] => {
    if (writer.finished) return [];
    if (!reason) throw new UpstreamFault('truncated', 'the stream ended without a stop_reason');
    blocks.stopAll();
    writer.finish(reason, decodeUsage(usage));
    return writer.drain();
  };

  const open = (message: Json | undefined) => {
    const id = asString(message?.id);
    assertSameMessage(messageId, id);
    messageId ??= id;
    usage = { ...usage, ...readUsage(message?.usage) };
    writer.start(decodeUsage(usage));
  };

  const keyOf = ({ index }: Json): string => (typeof index === 'number' ? `${index}` : 'unnamed');

  const read = (event: Json) => {
    switch (event.type) {
      case 'message_start':
        return open(asRecord(event.message));
      case 'content_block_start':
        return blocks.start(keyOf(event), asRecord(event.content_block) ?? {});
      case 'content_block_delta':
        return blocks.append(keyOf(event), asRecord(event.delta) ?? {});
      case 'content_block_stop':
        return blocks.stop(keyOf(event));
      case 'message_delta':
        usage = { ...usage, ...readUsage(event.usage) };
        reason = decodeStopReason(asRecord(event.delta) ?? {}) ?? reason;
        return undefined;
      case 'error':
        throw new UpstreamFault('error-event', `the upstream sent ${JSON.stringify(event.error)}`);
      default:
        // Pings, and events to come.
        return undefined;
    }
  };

  return {
    push: ({ data }) => {
      // Some upstreams keep the connection alive with events that say nothing.
      if (writer.finished || data.trim() === '') return [];
      // Proxies put the other family's last word behind this one's.
      if (data.trim() === '[DONE]') return conclude();
      // What is cut off behind the stop reason is no loss.
      const event = reason ? readJsonObject(data) : parseUpstreamJson(data);
      if (!event) return conclude();
      if (event.type === 'message_stop') return conclude();
      read(event);
      return writer.drain();
    },
    end: conclude,
  };
};
