import { createEventWriter, type EventWriter } from '../event-writer.ts';
import { extrasIfAny } from '../extras.ts';
import type { BlockHead, GenerationRequest } from '../generation.ts';
import { asRecord, asString, type Json } from '../json.ts';
import { createToolIds } from '../tool-ids.ts';
import { UpstreamError } from '../upstream-error.ts';
import { plainToolId } from './ids.ts';
import { NAME } from './name.ts';

type UniqueId = (wanted: string | undefined) => string;

const toolHead = (block: Json, uniqueId: UniqueId): BlockHead => {
  const name = asString(block.name) ?? '';
  if (name === '') throw new UpstreamError('malformed', 'a tool call lacks its name');
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
      if (!asString(block.type)) throw new UpstreamError('malformed', 'a block without a type');
      return { type: 'native', protocol: NAME, value: block };
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
const mayBeEmpty = ({ stop = [], maxTokens }: GenerationRequest): boolean =>
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

/** A block as it began, with what is written only when it ends. */
type StartedBlock = {
  key: string;
  head: BlockHead;
  signature: string;
  /** Input given whole at the start counts only if no fragments follow. */
  wholeInput: string;
};

const signatureIn = (block: Json, head: BlockHead): string => {
  if (head.type !== 'thinking') return '';
  return asString(head.redacted ? block.data : block.signature) ?? '';
};

/** Kinds of delta to come are passed over; a known kind in the wrong block would lose content. */
const assertHarmless = (key: string, delta: Json) => {
  const type = asString(delta.type) ?? '';
  if (!CONTENT.has(type)) return;
  throw new UpstreamError('malformed', `${type} for block ${key}, which takes none`);
};

/** Deltas as their blocks take them. */
const createDeltaReader = (writer: EventWriter) => {
  const passOn = (key: string, fields: Json | undefined) => {
    if (fields) writer.extra(key, { protocol: NAME, fields });
  };

  const appendArguments = (block: StartedBlock, text: string) => {
    if (text !== '') block.wholeInput = '';
    writer.delta(block.key, text);
  };

  return (block: StartedBlock, delta: Json) => {
    const { key, head } = block;
    if (head.type === 'native') return passOn(key, passable(delta));
    switch (`${head.type} ${asString(delta.type)}`) {
      case 'text text_delta':
        return writer.delta(key, asString(delta.text) ?? '');
      case 'text citations_delta':
        return passOn(key, delta);
      case 'thinking thinking_delta':
        return writer.delta(key, asString(delta.thinking) ?? '');
      case 'thinking signature_delta':
        block.signature += asString(delta.signature) ?? '';
        return undefined;
      case 'tool-call input_json_delta':
        return appendArguments(block, asString(delta.partial_json) ?? '');
      default:
        return assertHarmless(key, delta);
    }
  };
};

/** Reads content blocks, streamed or whole, by their index on the wire. */
export const createBlockReader = (request: GenerationRequest) => {
  const writer = createEventWriter({ mayBeEmpty: mayBeEmpty(request) });
  const readDelta = createDeltaReader(writer);
  const uniqueId = createToolIds(request);
  const blocks = new Map<string, StartedBlock>();

  const start = (key: string, wire: Json) => {
    // A block that is started again has ended, with its input and its signature.
    stop(key);
    const head = headOf(wire, uniqueId);
    const wholeInput = head.type === 'tool-call' ? initialArguments(wire) : '';
    blocks.set(key, { key, head, signature: signatureIn(wire, head), wholeInput });
    writer.open(key, head);
    if (head.type === 'text' || (head.type === 'thinking' && !head.redacted)) {
      writer.delta(key, initialText(wire));
    }
  };

  const append = (key: string, delta: Json) => {
    const block = blocks.get(key);
    if (block) readDelta(block, delta);
    else assertHarmless(key, delta);
  };

  const stop = (key: string) => {
    const block = blocks.get(key);
    if (!block || !writer.isOpen(key)) return;
    writer.delta(key, block.wholeInput);
    writer.close(key, block.signature || undefined);
  };

  /** Some upstreams never stop their blocks; signatures and inputs must not be lost with that. */
  const stopAll = () => {
    for (const key of blocks.keys()) stop(key);
  };

  return { writer, start, append, stop, stopAll };
};
