import { omitUndefined } from '../../support/objects.ts';
import { asRecord, asString } from '../bytes/json.ts';
import type { Block } from '../generation.ts';
import { assertImage } from '../media.ts';
import type { ContentPart } from './wire.ts';

/**
 * Blocks of the messages protocol in a chat body: some agents send them if a model's name suggests
 * that protocol. They are decoded, and encoded for the upstream's protocol.
 */
export type BorrowedBlock = Extract<ContentPart, { type: 'tool_use' | 'tool_result' | 'image' }>;

const decodeImage = (wire: unknown, param: string): Block[] => {
  const source = asRecord(wire) ?? {};
  const url = asString(source.url);
  const mediaType = asString(source.media_type);
  const data = asString(source.data);
  if (url !== undefined) {
    return [{ type: 'image', source: assertImage({ kind: 'url', url }, param) }];
  }
  if (mediaType === undefined || data === undefined) return [];
  return [{ type: 'image', source: assertImage({ kind: 'base64', mediaType, data }, param) }];
};

const decodeResultPart = (wire: Record<string, unknown>, param: string): Block[] => {
  if (wire.type === 'image') return decodeImage(wire.source, param);
  const text = asString(wire.text);
  return text === undefined ? [] : [{ type: 'text', text }];
};

const decodeResultContent = (content: unknown, param: string): Block[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content)
    ? content.flatMap((part) => decodeResultPart(asRecord(part) ?? {}, param))
    : [];
};

export const decodeBorrowed = (part: BorrowedBlock, param: string): Block[] => {
  switch (part.type) {
    case 'image':
      return decodeImage(part.source, `${param}.source`);
    case 'tool_use': {
      const text = JSON.stringify(part.input ?? {});
      return [{ type: 'tool-call', id: part.id, name: part.name, arguments: text }];
    }
    case 'tool_result':
      return [
        omitUndefined({
          type: 'tool-result' as const,
          callId: part.tool_use_id,
          content: decodeResultContent(part.content, `${param}.content`),
          isError: part.is_error,
        }),
      ];
    default:
      return part satisfies never;
  }
};
