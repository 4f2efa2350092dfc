import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { asRecord, asString, isTooDeep, type Json, readJsonObject } from '../bytes/json.ts';
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
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { assertImage, assertMedia } from '../media.ts';
import { decodeAsText, originalBlock } from './blocks-as-text.ts';
import { plainToolId, readToolId, wireToolId } from './ids.ts';
import { NAME } from './name.ts';
import type { ContentBlock } from './wire.ts';

type BlockOf<T extends ContentBlock['type']> = Extract<ContentBlock, { type: T }>;

// --- wire -> canonical ---

type WireMedia = Extract<BlockOf<'image'>['source'], { type: 'base64' | 'url' }>;

const decodeSource = (source: WireMedia): MediaSource =>
  source.type === 'url'
    ? { kind: 'url', url: source.url }
    : { kind: 'base64', mediaType: source.media_type, data: source.data };

/** The block's fields with those of its source. */
const mediaExtras = (fields: Json, source: Json) => {
  const { type: _, url: __, media_type: ___, data: ____, ...rest } = source;
  return extrasIfAny(NAME, isEmpty(rest) ? fields : { ...fields, source: rest });
};

const decodeImage = (block: BlockOf<'image'>, param: string): Block => {
  const { type, source, ...fields } = block;
  if (source.type === 'other') {
    return { type: 'native', protocol: NAME, value: { ...block, source: source.value } };
  }
  const image = assertImage(decodeSource(source), `${param}.source`);
  return { type, source: image, ...mediaExtras(fields, source) };
};

const decodeDocument = (block: BlockOf<'document'>, param: string): Block => {
  const { type, source, title, ...fields } = block;
  if (source.type === 'other') return decodeAsText({ ...block, source: source.value });
  const rest = { ...omitUndefined({ title }), ...mediaExtras(fields, source) };
  if (source.type === 'text') return { type, source: { kind: 'text', text: source.data }, ...rest };
  const media = decodeSource(source);
  assertMedia(media, `${param}.source`);
  return { type, source: media, ...rest };
};

const decodeToolResult = (block: BlockOf<'tool_result'>, param: string): Block => {
  const { type: _, tool_use_id: id, content, is_error: isError, ...fields } = block;
  return omitUndefined({
    type: 'tool-result' as const,
    callId: plainToolId(id),
    content: decodeContent(content, param),
    isError,
    ...extrasIfAny(NAME, fields),
  });
};

const decodeToolUse = (block: BlockOf<'tool_use'>): Block => {
  const { type: _, id: wireId, name, input, ...fields } = block;
  const { id, extras } = readToolId(wireId);
  const call = { type: 'tool-call' as const, id, name, arguments: JSON.stringify(input ?? {}) };
  return extras ? { ...call, extras } : { ...call, ...extrasIfAny(NAME, fields) };
};

const decodeOther = (block: Json): Block => {
  if (block.type !== 'redacted_thinking') return decodeAsText(block);
  const { type: _, data, ...fields } = block;
  const thinking = { type: 'thinking' as const, text: '', redacted: true as const };
  return { ...thinking, signature: asString(data) ?? '', ...extrasIfAny(NAME, fields) };
};

const decodeBlock = (block: ContentBlock, param: string): Block => {
  switch (block.type) {
    case 'text': {
      const { type, text, ...fields } = block;
      return { type, text, ...extrasIfAny(NAME, fields) };
    }
    case 'thinking': {
      const { type, thinking: text, signature, ...fields } = block;
      return { type, text, ...omitUndefined({ signature }), ...extrasIfAny(NAME, fields) };
    }
    case 'tool_use':
      return decodeToolUse(block);
    case 'tool_result':
      return decodeToolResult(block, param);
    case 'image':
      return decodeImage(block, param);
    case 'document':
      return decodeDocument(block, param);
    case 'other':
      return decodeOther(block.value);
    default:
      return block satisfies never;
  }
};

export const decodeContent = (
  content: string | ContentBlock[] | undefined,
  param: string,
): Block[] => {
  if (content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((block, index) => decodeBlock(block, `${param}.content.${index}`));
};

// --- canonical -> wire ---

/** The block's extra fields; of other protocols only `cache_control`, which has the same meaning. */
export const fieldsOf = (extras: Extras | undefined): Json => {
  if (extras === undefined || extras.protocol === NAME) return extraFieldsFor(NAME, extras);
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

/** Arguments as an object; `{}` if they are not one. */
export const parseArguments = (text: string): Json =>
  // A history may hold a truncated call; the model must still see it.
  readJsonObject(text) ?? {};

/** @throws ApiError 400 when the arguments nest too deep to be encoded. */
const inputOf = ({ id, arguments: text, custom }: ToolCallBlock): Json => {
  if (custom) return { input: text };
  const input = parseArguments(text);
  if (!isTooDeep(input)) return input;
  throw invalidRequest(`The arguments of tool call '${id}' are nested deeper than 500 levels.`);
};

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
  return [{ ...extraFieldsFor(NAME, extras), ...wire }];
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
      return block.protocol === NAME ? [block.value] : [];
    default:
      return block satisfies never;
  }
};

/** A string if the content is one plain text, else blocks; an empty string if no content is left. */
export const encodeContent = (blocks: Block[]): string | Json[] => {
  const wire = blocks.flatMap(encodeBlock);
  const [first] = wire;
  if (!first) return '';
  const isPlain = wire.length === 1 && first.type === 'text' && Object.keys(first).length === 2;
  return isPlain ? String(first.text) : wire;
};
