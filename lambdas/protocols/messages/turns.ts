import { compact } from '../../support/compact.ts';
import { invalidRequest } from '../../support/errors.ts';
import type { Block, DocumentBlock, ImageBlock, MediaSource, Turn } from '../generation.ts';
import { assertImage } from '../media.ts';
import { fieldsFor, rideIfAny } from '../parse-wire.ts';
import { plainToolId, wireToolId } from './ids.ts';
import type { ContentBlock, Message, WireSource } from './wire.ts';

const NAME = 'messages';

type Wire = Record<string, unknown>;
type BlockOf<T extends string> = Extract<ContentBlock, { type: T }>;

// --- wire -> canonical ---

const decodeSource = (source: WireSource): DocumentBlock['source'] | undefined => {
  switch (source.type) {
    case 'base64': {
      const { media_type: mediaType, data } = source as { media_type: string; data: string };
      return { kind: 'base64', mediaType, data };
    }
    case 'url':
      return { kind: 'url', url: (source as { url: string }).url };
    case 'text':
      return { kind: 'text', text: (source as { data: string }).data };
    default:
      return undefined;
  }
};

const decodeImage = (block: BlockOf<'image'>, param: string): Block => {
  const { type, source: wire, ...fields } = block;
  const source = decodeSource(wire as WireSource);
  if (!source || source.kind === 'text') return { type: 'foreign', protocol: NAME, value: block };
  return { type, source: assertImage(source, `${param}.source`), ...rideIfAny(NAME, fields) };
};

const decodeDocument = (block: BlockOf<'document'>): Block => {
  const { type, source: wire, title, ...fields } = block;
  const source = decodeSource(wire);
  if (!source) return { type: 'foreign', protocol: NAME, value: block };
  return { type, source, ...compact({ title }), ...rideIfAny(NAME, fields) };
};

const decodeToolResult = (block: BlockOf<'tool_result'>, param: string): Block => {
  const { type: _, tool_use_id: id, content, is_error: isError, ...fields } = block;
  return compact({
    type: 'tool-result' as const,
    callId: plainToolId(id),
    content: decodeContent(content ?? [], param),
    isError,
    ...rideIfAny(NAME, fields),
  });
};

const decodeBlock = (block: ContentBlock, param: string): Block => {
  switch (block.type) {
    case 'text': {
      const { type, text, ...fields } = block as BlockOf<'text'>;
      return { type, text, ...rideIfAny(NAME, fields) };
    }
    case 'thinking': {
      const { type, thinking: text, signature, ...fields } = block as BlockOf<'thinking'>;
      return { type, text, ...compact({ signature }), ...rideIfAny(NAME, fields) };
    }
    case 'redacted_thinking': {
      const { type: _, data, ...fields } = block as { type: string; data?: unknown };
      const signature = String(data ?? '');
      return { type: 'thinking', text: '', redacted: true, signature, ...rideIfAny(NAME, fields) };
    }
    case 'tool_use': {
      const { type: _, id, name, input, ...fields } = block as BlockOf<'tool_use'>;
      const text = JSON.stringify(input ?? {});
      const call = { type: 'tool-call' as const, id: plainToolId(id), name, arguments: text };
      return { ...call, ...rideIfAny(NAME, fields) };
    }
    case 'tool_result':
      return decodeToolResult(block as BlockOf<'tool_result'>, param);
    case 'image':
      return decodeImage(block as BlockOf<'image'>, param);
    case 'document':
      return decodeDocument(block as BlockOf<'document'>);
    default:
      return { type: 'foreign', protocol: NAME, value: block };
  }
};

const decodeContent = (content: string | ContentBlock[], param: string): Block[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.map((block, index) => decodeBlock(block, `${param}.content.${index}`));
};

export const decodeMessage = ({ role, content, ...fields }: Message, index: number): Turn => ({
  role,
  blocks: decodeContent(content, `messages.${index}`),
  ...rideIfAny(NAME, fields),
});

/** The top-level system prompt is the first turn of the conversation. */
export const decodeSystem = (system: string | ContentBlock[] | undefined): Turn[] =>
  system === undefined || system.length === 0
    ? []
    : [{ role: 'system', blocks: decodeContent(system, 'system') }];

// --- canonical -> wire ---

const encodeSource = (source: MediaSource): Wire =>
  source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.data };

const encodeDocumentSource = (source: DocumentBlock['source']): Wire =>
  source.kind === 'text'
    ? { type: 'text', media_type: 'text/plain', data: source.text }
    : encodeSource(source);

/** Arguments as the object this wire wants; what is not an object becomes none, never a failure. */
export const parseArguments = (text: string): Wire => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Wire;
  } catch {
    // A history may hold a call that was cut off; the model must still see that it was made.
  }
  return {};
};

const encodeMedia = (block: ImageBlock | DocumentBlock): Wire => {
  const fields = fieldsFor(NAME, block.extras);
  if (block.type === 'image') {
    return { ...fields, type: 'image', source: encodeSource(block.source) };
  }
  const source = encodeDocumentSource(block.source);
  return compact({ ...fields, type: 'document', source, title: block.title });
};

const encodeBlock = (block: Block): Wire[] => {
  switch (block.type) {
    case 'text':
      // This wire refuses empty text.
      return block.text === ''
        ? []
        : [{ ...fieldsFor(NAME, block.extras), type: 'text', text: block.text }];
    case 'thinking': {
      // Without its signature the upstream would refuse the whole request.
      if (!block.signature) return [];
      const { text: thinking, signature, redacted, extras } = block;
      const wire = redacted
        ? { type: 'redacted_thinking', data: signature }
        : { type: 'thinking', thinking, signature };
      return [{ ...fieldsFor(NAME, extras), ...wire }];
    }
    case 'tool-call': {
      const { id, name, arguments: text, extras } = block;
      const input = parseArguments(text);
      return [{ ...fieldsFor(NAME, extras), type: 'tool_use', id: wireToolId(id), name, input }];
    }
    case 'tool-result': {
      const { callId, content, isError, extras } = block;
      const wire = encodeContent(content);
      const result = compact({ content: wire === '' ? undefined : wire, is_error: isError });
      const id = wireToolId(callId);
      return [{ ...fieldsFor(NAME, extras), type: 'tool_result', tool_use_id: id, ...result }];
    }
    case 'image':
    case 'document':
      return [encodeMedia(block)];
    case 'foreign':
      return block.protocol === NAME ? [block.value] : [];
    default:
      return block satisfies never;
  }
};

/** A string where one plain text says it all, else blocks. */
const encodeContent = (blocks: Block[]): string | Wire[] => {
  const wire = blocks.flatMap(encodeBlock);
  const [first] = wire;
  if (!first) return '';
  const isPlain = wire.length === 1 && first.type === 'text' && Object.keys(first).length === 2;
  return isPlain ? String(first.text) : wire;
};

/** Consecutive turns of one role become one, as the vendor does; results come first, as it demands. */
const mergeTurns = (turns: Turn[]): Turn[] => {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.role !== turn.role || turn.role === 'system') merged.push(turn);
    else merged[merged.length - 1] = joinTurns(last, turn);
  }
  return merged;
};

const joinTurns = (first: Turn, second: Turn): Turn => {
  const blocks = [...first.blocks, ...second.blocks];
  const results = blocks.filter(({ type }) => type === 'tool-result');
  const rest = blocks.filter(({ type }) => type !== 'tool-result');
  return { ...first, blocks: [...results, ...rest] };
};

/** A later system turn keeps its place: as itself where the caller speaks this wire, else marked. */
const asReminder = (turn: Turn, speaksThisWire: boolean): Turn => {
  if (turn.role !== 'system' || speaksThisWire) return turn;
  const wrapped = turn.blocks.map(
    (block): Block =>
      block.type === 'text'
        ? { type: 'text', text: `<system-reminder>\n${block.text}\n</system-reminder>` }
        : block,
  );
  return { role: 'user', blocks: wrapped };
};

/**
 * The conversation as this wire splits it: what the leading system turns say, and the turns after them.
 * @throws ApiError 400 when nothing but system turns is there.
 */
export const encodeTurns = (turns: Turn[], speaksThisWire: boolean) => {
  const firstOther = turns.findIndex((turn) => turn.role !== 'system');
  const lead = firstOther === -1 ? turns : turns.slice(0, firstOther);
  const later = firstOther === -1 ? [] : turns.slice(firstOther);
  const conversation = mergeTurns(later.map((turn) => asReminder(turn, speaksThisWire)));
  const messages = conversation.flatMap((turn): Wire[] => {
    const content = encodeContent(turn.blocks);
    // Nothing left to say, e.g. only thinking of another upstream.
    if (content === '') return [];
    return [{ ...fieldsFor(NAME, turn.extras), role: turn.role, content }];
  });
  if (messages.length === 0) {
    throw invalidRequest('messages: at least one message with content is required.', {
      param: 'messages',
    });
  }
  // The vendor wants a user to begin; the other family's callers may begin with the assistant.
  if (!speaksThisWire && messages[0]?.role !== 'user') {
    messages.unshift({ role: 'user', content: '(continue)' });
  }
  const system = encodeContent(lead.flatMap(({ blocks }) => blocks));
  return compact({ system: system === '' ? undefined : system, messages });
};
