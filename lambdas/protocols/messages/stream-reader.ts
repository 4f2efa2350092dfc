import { isEmpty } from '../../support/objects.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { BlockHead, GenerationRequest } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createEventWriter, type EventWriter } from '../streams/event-writer.ts';
import { hasCustomTool, unwrapInput } from '../tools/custom.ts';
import { createToolIds } from '../tools/ids.ts';
import { plainToolId } from './ids.ts';

/** What the head of a tool call depends on. */
type Call = { request: GenerationRequest; uniqueId: (id: string | undefined) => string };

const toolHead = (block: Json, { request, uniqueId }: Call): BlockHead => {
  const { type: _, id, name, input: __, ...fields } = block;
  if (typeof name !== 'string' || name === '') {
    throw new UpstreamError('malformed', 'a tool call lacks its name');
  }
  const custom = hasCustomTool(request, name) && { custom: true as const };
  // E.g. the code that called it. Callers of other protocols send it back within the id.
  const extras = extrasIfAny('messages', fields);
  return {
    type: 'tool-call',
    id: uniqueId(plainToolId(asString(id) ?? '')),
    name,
    ...custom,
    ...extras,
  };
};

const headOf = (block: Json, call: Call): BlockHead => {
  switch (block.type) {
    case 'text':
      return { type: 'text' };
    case 'thinking':
      return { type: 'thinking' };
    case 'redacted_thinking':
      return { type: 'thinking', redacted: true };
    case 'tool_use':
      return toolHead(block, call);
    default:
      // Unknown kinds are sent to callers of the same protocol; a block without a kind cannot be.
      if (!asString(block.type)) throw new UpstreamError('malformed', 'a block without a type');
      return { type: 'native', protocol: 'messages', value: block };
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

/** Kinds of delta that carry content. */
const CONTENT = ['text_delta', 'thinking_delta', 'input_json_delta'];

/** The kinds that begin without a name, by their deltas. */
const PROSE = new Map<unknown, string>([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
]);

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

/** @throws UpstreamError for a known kind in the wrong block */
const assertUnknownKind = (key: string, delta: Json) => {
  const type = asString(delta.type) ?? '';
  if (!CONTENT.includes(type)) return;
  throw new UpstreamError('malformed', `${type} for block ${key}, which takes none`);
};

/** Writes deltas by the kind of their block. */
const createDeltaReader = (writer: EventWriter) => {
  const appendArguments = (block: StartedBlock, text: string) => {
    if (isCustom(block.head)) block.input += text;
    else {
      if (text !== '') block.wholeInput = '';
      writer.delta(block.key, text);
    }
  };

  /** Documents that a request holds have no address. */
  const cite = (key: string, citation: unknown) => {
    const { url, title } = asRecord(citation) ?? {};
    writer.cite(key, { url, title });
  };

  const append = (block: StartedBlock, delta: Json) => {
    const { key, head } = block;
    if (head.type === 'native') return undefined;
    const kind = isRedacted(head) ? 'redacted' : head.type;
    switch (`${kind} ${asString(delta.type)}`) {
      case 'text text_delta':
        return writer.delta(key, asString(delta.text) ?? '');
      case 'thinking thinking_delta':
        return writer.delta(key, asString(delta.thinking) ?? '');
      case 'thinking signature_delta':
        block.signature += asString(delta.signature) ?? '';
        return undefined;
      case 'text citations_delta':
        return cite(key, delta.citation);
      case 'tool-call input_json_delta':
        return appendArguments(block, asString(delta.partial_json) ?? '');
      default:
        return assertUnknownKind(key, delta);
    }
  };
  return { append, cite };
};

/** Decodes content blocks, streamed or whole, by their wire index. */
export const createBlockReader = (request: GenerationRequest) => {
  const writer = createEventWriter({
    mayBeEmpty: mayBeEmpty(request),
    caller: request.extras.protocol,
  });
  const deltas = createDeltaReader(writer);
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
      for (const one of asArray(wire.citations)) deltas.cite(key, one);
    }
  };

  /** Some gateways go on with another kind of prose in an open block, which begins one. */
  const append = (key: string, delta: Json) => {
    const block = blocks.get(key);
    const prose = PROSE.get(delta.type);
    const isOther = block && prose && block.head.type !== prose && block.head.type !== 'native';
    if (isOther) start(key, { type: prose });
    const open = blocks.get(key);
    if (open) deltas.append(open, delta);
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
