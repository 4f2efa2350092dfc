import { decodeBorrowed } from '#late/crossing';
import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import type { Block } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { assertImage, isPdf, parseFileData, parseMediaUrl } from '../media.ts';
import type { ContentPart } from './wire.ts';

type PartOf<T extends ContentPart['type']> = Extract<ContentPart, { type: T }>;

const decodeFile = (part: PartOf<'file'>, param: string): Block => {
  const { file, type: _, ...fields } = part;
  const { file_data: data, filename } = file;
  // A file id is only valid at the upstream that stores the file.
  if (data === undefined) return { type: 'native', protocol: 'chat', value: part };
  const field = `${param}.file.file_data`;
  const source = parseFileData(data, filename, field);
  if (source.kind === 'url') {
    throw invalidRequest(`${field}: must be a base64 data URL.`, { param: field });
  }
  return {
    type: 'document',
    source,
    ...omitUndefined({ title: filename }),
    ...extrasIfAny('chat', fields),
  };
};

/** An image, or a PDF: callers send PDFs as images too. */
const decodeImage = (part: PartOf<'image_url'>, param: string): Block => {
  const { image_url: image, type: _, ...fields } = part;
  const { url, ...detail } = image;
  const field = `${param}.image_url.url`;
  const source = parseMediaUrl(url, field);
  if (isPdf(source)) {
    return { type: 'document', source, ...extrasIfAny('chat', { ...fields, image_url: detail }) };
  }
  const rest = isEmpty(detail) ? {} : { image_url: detail };
  return {
    type: 'image',
    source: assertImage(source, field),
    ...extrasIfAny('chat', { ...fields, ...rest }),
  };
};

const decodePart = (part: ContentPart, param: string): Block[] => {
  switch (part.type) {
    case 'text': {
      const { type, text, ...fields } = part;
      return [{ type, text, ...extrasIfAny('chat', fields) }];
    }
    case 'refusal':
      return [{ type: 'text', text: part.refusal, refusal: true }];
    case 'image_url':
      return [decodeImage(part, param)];
    case 'file':
      return [decodeFile(part, param)];
    case 'other':
      return [{ type: 'native', protocol: 'chat', value: part.value }];
    default:
      return decodeBorrowed(part, param);
  }
};

export const decodeContent = (
  content: string | ContentPart[] | undefined,
  param: string,
): Block[] => {
  if (content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.flatMap((part, index) => decodePart(part, `${param}.content.${index}`));
};
