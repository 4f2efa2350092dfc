import { decodeAsText } from '#late/crossing';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asString, type Json, readJsonObject } from '../bytes/json.ts';
import type { Block, MediaSource } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { assertImage, assertMedia } from '../media.ts';
import { plainToolId, readToolId } from './ids.ts';
import type { ContentBlock } from './wire.ts';

type BlockOf<T extends ContentBlock['type']> = Extract<ContentBlock, { type: T }>;

type WireMedia = Extract<BlockOf<'image'>['source'], { type: 'base64' | 'url' }>;

const decodeSource = (source: WireMedia): MediaSource =>
  source.type === 'url'
    ? { kind: 'url', url: source.url }
    : { kind: 'base64', mediaType: source.media_type, data: source.data };

/** The block's fields with those of its source. */
const mediaExtras = (fields: Json, source: Json) => {
  const { type: _, url: __, media_type: ___, data: ____, ...rest } = source;
  return extrasIfAny('messages', isEmpty(rest) ? fields : { ...fields, source: rest });
};

const decodeImage = (block: BlockOf<'image'>, param: string): Block => {
  const { type, source, ...fields } = block;
  if (source.type === 'other') {
    return { type: 'native', protocol: 'messages', value: { ...block, source: source.value } };
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
    ...extrasIfAny('messages', fields),
  });
};

const decodeToolUse = (block: BlockOf<'tool_use'>): Block => {
  const { type: _, id: wireId, name, input, ...fields } = block;
  const { id, extras } = readToolId(wireId);
  const call = { type: 'tool-call' as const, id, name, arguments: JSON.stringify(input ?? {}) };
  return extras ? { ...call, extras } : { ...call, ...extrasIfAny('messages', fields) };
};

const decodeOther = (block: Json): Block => {
  if (block.type !== 'redacted_thinking') return decodeAsText(block);
  const { type: _, data, ...fields } = block;
  const thinking = { type: 'thinking' as const, text: '', redacted: true as const };
  return { ...thinking, signature: asString(data) ?? '', ...extrasIfAny('messages', fields) };
};

const decodeBlock = (block: ContentBlock, param: string): Block => {
  switch (block.type) {
    case 'text': {
      const { type, text, ...fields } = block;
      return { type, text, ...extrasIfAny('messages', fields) };
    }
    case 'thinking': {
      const { type, thinking: text, signature, ...fields } = block;
      return { type, text, ...omitUndefined({ signature }), ...extrasIfAny('messages', fields) };
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

/** Arguments as an object; `{}` if they are not one. */
export const parseArguments = (text: string): Json =>
  // A history may hold a truncated call; the model must still see it.
  readJsonObject(text) ?? {};
