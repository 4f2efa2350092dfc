import { invalidRequest } from '../../support/errors.ts';
import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import type { Json } from '../bytes/json.ts';
import type { Block, DocumentBlock, TextBlock } from '../generation.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { assertImage, formatMediaUrl, isPdf, parseFileData, parseMediaUrl } from '../media.ts';
import { decodeBorrowed } from './borrowed-blocks.ts';
import { NAME } from './name.ts';
import type { ContentPart } from './wire.ts';

export type WireContent = string | Json[];

// --- wire -> canonical ---

type PartOf<T extends ContentPart['type']> = Extract<ContentPart, { type: T }>;

const decodeFile = (part: PartOf<'file'>, param: string): Block => {
  const { file, type: _, ...fields } = part;
  const { file_data: data, filename } = file;
  // A file id is only valid at the upstream that stores the file.
  if (data === undefined) return { type: 'native', protocol: NAME, value: part };
  const field = `${param}.file.file_data`;
  const source = parseFileData(data, filename, field);
  if (source.kind === 'url') {
    throw invalidRequest(`${field}: must be a base64 data URL.`, { param: field });
  }
  return {
    type: 'document',
    source,
    ...omitUndefined({ title: filename }),
    ...extrasIfAny(NAME, fields),
  };
};

/** An image, or a PDF: callers send PDFs as images too. */
const decodeImage = (part: PartOf<'image_url'>, param: string): Block => {
  const { image_url: image, type: _, ...fields } = part;
  const { url, ...detail } = image;
  const field = `${param}.image_url.url`;
  const source = parseMediaUrl(url, field);
  if (isPdf(source)) {
    return { type: 'document', source, ...extrasIfAny(NAME, { ...fields, image_url: detail }) };
  }
  const rest = isEmpty(detail) ? {} : { image_url: detail };
  return {
    type: 'image',
    source: assertImage(source, field),
    ...extrasIfAny(NAME, { ...fields, ...rest }),
  };
};

const decodePart = (part: ContentPart, param: string): Block[] => {
  switch (part.type) {
    case 'text': {
      const { type, text, ...fields } = part;
      return [{ type, text, ...extrasIfAny(NAME, fields) }];
    }
    case 'refusal':
      return [{ type: 'text', text: part.refusal, refusal: true }];
    case 'image_url':
      return [decodeImage(part, param)];
    case 'file':
      return [decodeFile(part, param)];
    case 'other':
      return [{ type: 'native', protocol: NAME, value: part.value }];
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

// --- canonical -> wire ---

/** The vendor rejects file data without a name. */
const UNNAMED_FILE = 'document.pdf';

const encodeDocument = ({ source, title, extras }: DocumentBlock): Json => {
  const { image_url: detail, ...fields } = extraFieldsFor(NAME, extras);
  if (source.kind === 'text') {
    return { type: 'text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
  }
  if (detail !== undefined) {
    const url = formatMediaUrl(source);
    return { ...fields, type: 'image_url', image_url: { ...detail, url } };
  }
  // Unreachable through `targetsFor`: `cannotSay` names a document by URL.
  if (source.kind === 'url') throw invalidRequest('messages: a document by URL is not supported.');
  const file = { file_data: formatMediaUrl(source), filename: title ?? UNNAMED_FILE };
  return { ...fields, type: 'file', file };
};

/** The block as a part; undefined if only another protocol has a form for it. */
const encodePart = (block: Block): Json | undefined => {
  switch (block.type) {
    case 'text':
      return { ...extraFieldsFor(NAME, block.extras), type: 'text', text: block.text };
    case 'image': {
      const { image_url: detail, ...fields } = extraFieldsFor(NAME, block.extras);
      const url = formatMediaUrl(block.source);
      return { ...fields, type: 'image_url', image_url: { ...(detail ?? {}), url } };
    }
    case 'document':
      return encodeDocument(block);
    case 'native':
      return block.protocol === NAME ? block.value : undefined;
    default:
      return undefined;
  }
};

export const encodeParts = (blocks: Block[]): Json[] =>
  blocks.map(encodePart).filter((part) => part !== undefined);

/** A string if the content is one plain text, else parts. */
export const encodeContent = (blocks: Block[]): WireContent => {
  const parts = encodeParts(blocks);
  const [first] = parts;
  if (!first) return '';
  const isPlain = parts.length === 1 && first.type === 'text' && Object.keys(first).length === 2;
  return isPlain ? String(first.text) : parts;
};

const hasForm = (block: Block): boolean => block.type !== 'native' || block.protocol === NAME;

const isPlainText = (block: Block): block is TextBlock =>
  block.type === 'text' && isEmpty(extraFieldsFor(NAME, block.extras));

/** Texts as one string if possible: many upstreams accept parts only with images, some never. */
export const joinTexts = (blocks: Block[], separator: string): WireContent => {
  const encodable = blocks.filter(hasForm);
  if (!encodable.every(isPlainText)) return encodeContent(encodable);
  const texts = encodable.map(({ text }) => text);
  return texts.filter((text) => text.trim() !== '').join(separator);
};
