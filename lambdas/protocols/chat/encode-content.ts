import { invalidRequest } from '../../support/errors.ts';
import { isEmpty } from '../../support/objects.ts';
import type { Json } from '../bytes/json.ts';
import type { Block, DocumentBlock, TextBlock } from '../generation.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { formatMediaUrl } from '../media.ts';

export type WireContent = string | Json[];

/** The vendor rejects file data without a name. */
const UNNAMED_FILE = 'document.pdf';

const encodeDocument = ({ source, title, extras }: DocumentBlock): Json => {
  const { image_url: detail, ...fields } = extraFieldsFor('chat', extras);
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
      return { ...extraFieldsFor('chat', block.extras), type: 'text', text: block.text };
    case 'image': {
      const { image_url: detail, ...fields } = extraFieldsFor('chat', block.extras);
      const url = formatMediaUrl(block.source);
      return { ...fields, type: 'image_url', image_url: { ...(detail ?? {}), url } };
    }
    case 'document':
      return encodeDocument(block);
    case 'native':
      return block.protocol === 'chat' ? block.value : undefined;
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

const isPlainText = (block: Block): block is TextBlock =>
  block.type === 'text' && isEmpty(extraFieldsFor('chat', block.extras));

/** Texts as one string if possible: many upstreams accept parts only with images, some never. */
export const joinTexts = (blocks: Block[], separator: string): WireContent => {
  const encodable = blocks.filter((block) => block.type !== 'native' || block.protocol === 'chat');
  if (!encodable.every(isPlainText)) return encodeContent(encodable);
  const texts = encodable.map(({ text }) => text);
  return texts.filter((text) => text.trim() !== '').join(separator);
};
