import { invalidRequest } from '../../support/errors.ts';
import { omitUndefined } from '../../support/objects.ts';
import { asRecord, isTooDeep, type Json } from '../bytes/json.ts';
import type {
  Block,
  DocumentBlock,
  Extras,
  ImageBlock,
  MediaSource,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultBlock,
} from '../generation.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { parseArguments } from './content.ts';
import { wireToolId } from './ids.ts';

/** The block's extra fields; of other protocols only `cache_control`, which has the same meaning. */
export const fieldsOf = (extras: Extras | undefined): Json => {
  if (extras === undefined || extras.protocol === 'messages')
    return extraFieldsFor('messages', extras);
  const { cache_control: cachePoint } = extras.fields;
  return asRecord(cachePoint) ? { cache_control: cachePoint } : {};
};

const encodeSource = (source: MediaSource): Json =>
  source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.data };

const plainText = (text: string): Json => ({ type: 'text', media_type: 'text/plain', data: text });

/** Base64 is for PDFs only; text files are sent as text. */
const encodeDocumentSource = (source: DocumentBlock['source']): Json => {
  if (source.kind === 'text') return plainText(source.text);
  if (source.kind === 'base64' && source.mediaType.startsWith('text/')) {
    return plainText(Buffer.from(source.data, 'base64').toString('utf8'));
  }
  return encodeSource(source);
};

/** @throws ApiError 400 when the arguments nest too deep to be encoded. */
const inputOf = ({ id, arguments: text, custom }: ToolCallBlock): Json => {
  if (custom) return { input: text };
  const input = parseArguments(text);
  if (!isTooDeep(input)) return input;
  throw invalidRequest(`The arguments of tool call '${id}' are nested deeper than 500 levels.`);
};

/** The block that `decodeAsText` kept in the extras of a text. */
const originalBlock = (fields: Json): Json | undefined =>
  typeof fields.type === 'string' ? fields : undefined;

const encodeText = ({ text, extras }: TextBlock): Json[] => {
  const fields = fieldsOf(extras);
  const original = originalBlock(fields);
  if (original) return [original];
  // The vendor rejects text without a visible character.
  return text.trim() === '' ? [] : [{ ...fields, type: 'text', text }];
};

const encodeThinking = ({ text, signature, redacted, extras }: ThinkingBlock): Json[] => {
  // The upstream would reject the whole request over thinking without a signature.
  if (!signature) return [];
  const wire = redacted
    ? { type: 'redacted_thinking', data: signature }
    : { type: 'thinking', thinking: text, signature };
  return [{ ...extraFieldsFor('messages', extras), ...wire }];
};

const encodeMedia = (block: ImageBlock | DocumentBlock): Json => {
  const { source: rest, ...fields } = fieldsOf(block.extras);
  if (block.type === 'image') {
    return {
      ...fields,
      type: 'image',
      source: { ...asRecord(rest), ...encodeSource(block.source) },
    };
  }
  const source = { ...asRecord(rest), ...encodeDocumentSource(block.source) };
  return omitUndefined({ ...fields, type: 'document', source, title: block.title });
};

const encodeToolResult = ({ callId, content, isError, extras }: ToolResultBlock): Json => {
  const wire = encodeContent(content);
  const result = omitUndefined({ content: wire === '' ? undefined : wire, is_error: isError });
  return { ...fieldsOf(extras), type: 'tool_result', tool_use_id: wireToolId(callId), ...result };
};

/** A valid tool name; chat histories of other servers may hold invalid ones. */
const nameOf = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 128);

const encodeBlock = (block: Block): Json[] => {
  switch (block.type) {
    case 'text':
      return encodeText(block);
    case 'thinking':
      return encodeThinking(block);
    case 'tool-call': {
      const { id, name, extras } = block;
      const call = { id: wireToolId(id), name: nameOf(name), input: inputOf(block) };
      return [{ ...fieldsOf(extras), type: 'tool_use', ...call }];
    }
    case 'tool-result':
      return [encodeToolResult(block)];
    case 'image':
    case 'document':
      return [encodeMedia(block)];
    case 'native':
      return block.protocol === 'messages' ? [block.value] : [];
    default:
      return block satisfies never;
  }
};

/** A string if the content is one plain text, else blocks; an empty string if no content is left. */
export const encodeContent = (blocks: Block[]): string | Json[] => {
  const wire: Json[] = [];
  for (const block of blocks) wire.push(...encodeBlock(block));
  const [first] = wire;
  if (!first) return '';
  const isPlain = wire.length === 1 && first.type === 'text' && Object.keys(first).length === 2;
  return isPlain ? String(first.text) : wire;
};
