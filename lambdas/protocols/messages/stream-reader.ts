import { isEmpty } from '../../support/omit-undefined.ts';
import { asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import { createEventWriter, type EventWriter } from '../event-writer.ts';
import type { BlockHead, GenerationRequest } from '../generation.ts';
import { extrasIfAny, membersBeyond } from '../ledger/extras.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { hasCustomTool, unwrapInput } from '../tools/custom.ts';
import { createToolIds } from '../tools/ids.ts';
import { plainToolId } from './ids.ts';
import { NAME } from './name.ts';

/** What the head of a tool call depends on. */
type Call = { request: GenerationRequest; uniqueId: (id: string | undefined) => string };

const toolHead = (block: Json, { request, uniqueId }: Call): BlockHead => {
  const name = asString(block.name) ?? '';
  if (name === '') throw new UpstreamError('malformed', 'a tool call lacks its name');
  const id = uniqueId(plainToolId(asString(block.id) ?? ''));
  // E.g. the origin of the call and of its tool. Callers send them back.
  const fields = membersBeyond(block, ['type', 'id', 'name', 'input']);
  const custom = hasCustomTool(request, name) && { custom: true as const };
  return { type: 'tool-call', id, name, ...custom, ...extrasIfAny(NAME, fields) };
};

const fieldsBeyond = (block: Json, canonical: string[]) =>
  extrasIfAny(NAME, membersBeyond(block, ['type', ...canonical]));

const headOf = (block: Json, call: Call): BlockHead => {
  switch (block.type) {
    case 'text':
      return { type: 'text', ...fieldsBeyond(block, ['text', 'citations']) };
    case 'thinking':
      return { type: 'thinking', ...fieldsBeyond(block, ['thinking', 'signature']) };
    case 'redacted_thinking':
      return { type: 'thinking', redacted: true, ...fieldsBeyond(block, ['data']) };
    case 'tool_use':
      return toolHead(block, call);
    default:
      // Unknown kinds are sent to callers of the same protocol; a block without a kind cannot be.
      if (!asString(block.type)) throw new UpstreamError('malformed', 'a block without a type');
      return { type: 'native', protocol: NAME, value: block };
  }
};

/** A redacted block is complete in its start event: no delta adds to it. */
const isRedacted = (head: BlockHead): boolean => head.type === 'thinking' && head.redacted === true;

/** Content in the block's start event, in addition to its deltas. */
const initialText = (block: Json): string =>
  asString(block.type === 'thinking' ? block.thinking : block.text) ?? '';

/** Input as an object, or as its JSON, which some upstreams send. */
const initialArguments = ({ input }: Json): string =>
  asString(input) ?? (isEmpty(asRecord(input) ?? {}) ? '' : JSON.stringify(input));

/** A stop sequence may come before any content; `max_tokens: 0` generates none. */
const mayBeEmpty = ({ stop = [], maxTokens }: GenerationRequest): boolean =>
  stop.length > 0 || maxTokens === 0;

/** Kinds of delta that carry content, with its field. */
const CONTENT = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
]);

/** A delta of a native block, or undefined if its content is not a string: SDKs concatenate it. */
const forwardable = (delta: Json): Json | undefined => {
  const type = asString(delta.type);
  const field = CONTENT.get(type ?? '');
  if (!type || field === undefined) return type ? delta : undefined;
  return asString(delta[field]) ? { type, [field]: delta[field] } : undefined;
};

/** A started block, with the fields that are written when it ends. */
type StartedBlock = {
  key: string;
  head: BlockHead;
  signature: string;
  /** Input in the start event; used only if no fragments follow. */
  wholeInput: string;
  /** Fragments of a custom tool's input, which is not a text before they are whole. */
  input: string;
};

const isCustom = (head: BlockHead): boolean => head.type === 'tool-call' && head.custom === true;

const signatureIn = (block: Json, head: BlockHead): string => {
  if (head.type !== 'thinking') return '';
  return asString(head.redacted ? block.data : block.signature) ?? '';
};

/** Kinds of delta that are for one kind of block, and are left out of any other. */
const OF_ONE_KIND = ['signature_delta', 'citations_delta'];

const isKindToCome = ({ type }: Json): boolean =>
  typeof type === 'string' && type !== '' && !OF_ONE_KIND.includes(type);

/** @throws UpstreamError for a known kind in the wrong block */
const assertUnknownKind = (key: string, delta: Json) => {
  const type = asString(delta.type) ?? '';
  if (!CONTENT.has(type)) return;
  throw new UpstreamError('malformed', `${type} for block ${key}, which takes none`);
};

/** Writes deltas by the kind of their block. */
const createDeltaReader = (writer: EventWriter) => {
  const forward = (key: string, fields: Json | undefined) => {
    if (fields) writer.extra(key, { protocol: NAME, fields });
  };

  /** Thinking that is not shown is counted; clients add the counts up. */
  const forwardProgress = (key: string, { type, estimated_tokens }: Json) => {
    if (asCount(estimated_tokens)) forward(key, { type, thinking: '', estimated_tokens });
  };

  const appendArguments = (block: StartedBlock, text: string) => {
    if (isCustom(block.head)) block.input += text;
    else {
      if (text !== '') block.wholeInput = '';
      writer.delta(block.key, text);
    }
  };

  return (block: StartedBlock, delta: Json) => {
    const { key, head } = block;
    if (head.type === 'native') return forward(key, forwardable(delta));
    const kind = isRedacted(head) ? 'redacted' : head.type;
    switch (`${kind} ${asString(delta.type)}`) {
      case 'text text_delta':
        return writer.delta(key, asString(delta.text) ?? '');
      case 'text citations_delta':
        return forward(key, delta);
      case 'thinking thinking_delta':
        writer.delta(key, asString(delta.thinking) ?? '');
        return forwardProgress(key, delta);
      case 'thinking signature_delta':
        block.signature += asString(delta.signature) ?? '';
        return undefined;
      case 'tool-call input_json_delta':
        return appendArguments(block, asString(delta.partial_json) ?? '');
      default:
        assertUnknownKind(key, delta);
        return forward(key, isKindToCome(delta) ? delta : undefined);
    }
  };
};

/** Decodes content blocks, streamed or whole, by their wire index. */
export const createBlockReader = (request: GenerationRequest) => {
  const writer = createEventWriter({ mayBeEmpty: mayBeEmpty(request) });
  const readDelta = createDeltaReader(writer);
  const uniqueId = createToolIds(request);
  const blocks = new Map<string, StartedBlock>();

  const start = (key: string, wire: Json) => {
    // A second start under the same key ends the block, with its input and signature.
    stop(key);
    const head = headOf(wire, { request, uniqueId });
    const wholeInput = head.type === 'tool-call' ? initialArguments(wire) : '';
    blocks.set(key, { key, head, signature: signatureIn(wire, head), wholeInput, input: '' });
    writer.open(key, head);
    if (head.type === 'text' || (head.type === 'thinking' && !isRedacted(head))) {
      writer.delta(key, initialText(wire));
    }
  };

  const append = (key: string, delta: Json) => {
    const block = blocks.get(key);
    if (block) readDelta(block, delta);
    else assertUnknownKind(key, delta);
  };

  const stop = (key: string) => {
    const block = blocks.get(key);
    if (!block || !writer.isOpen(key)) return;
    const input = block.input || block.wholeInput;
    writer.delta(key, isCustom(block.head) ? unwrapInput(input) : input);
    writer.close(key, block.signature || undefined);
  };

  /** Some upstreams never stop their blocks; their signatures and inputs are written here. */
  const stopAll = () => {
    for (const key of blocks.keys()) stop(key);
  };

  return { writer, start, append, stop, stopAll };
};
