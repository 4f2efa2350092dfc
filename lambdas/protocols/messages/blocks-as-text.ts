import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Block } from '../generation.ts';

const textsOf = (content: unknown): string | undefined => {
  if (typeof content === 'string') return content;
  const texts = asArray(content).map((part) => asString(asRecord(part)?.text));
  return texts.length > 0 && texts.every((text) => text !== undefined)
    ? texts.join('\n')
    : undefined;
};

const searchResult = ({ title, source, content }: Json): string | undefined => {
  const text = textsOf(content);
  const head = [asString(title), asString(source)].filter(Boolean).join(' - ');
  return text === undefined ? undefined : `${head}\n${text}`.trim();
};

// The summary of a compacted conversation: without it the earlier turns are lost.
const compaction = ({ content }: Json): string | undefined => textsOf(content);

const toolReference = ({ tool_name: name }: Json): string | undefined =>
  typeof name === 'string' ? `The tool '${name}' is available.` : undefined;

/** For a target that does not know the type. */
export const spokenReference = (block: Json): Json => ({
  type: 'text',
  text: toolReference(block) ?? 'A tool is available.',
});

const documentOfTexts = ({ title, source }: Json): string | undefined => {
  const text = textsOf(asRecord(source)?.content);
  return text === undefined ? undefined : [asString(title), text].filter(Boolean).join('\n\n');
};

/** Blocks of this protocol that have a form as text. */
const TEXT_FORMS = new Map([
  ['search_result', searchResult],
  ['compaction', compaction],
  ['tool_reference', toolReference],
  ['document', documentOfTexts],
]);

/**
 * Decodes a block of an unlisted kind: as text, with the block in `extras`, if it has a form as text,
 * else as native.
 */
export const decodeAsText = (block: Json): Block => {
  const text = TEXT_FORMS.get(asString(block.type) ?? '')?.(block);
  return text === undefined
    ? { type: 'native', protocol: 'messages', value: block }
    : { type: 'text', text, extras: { protocol: 'messages', fields: block } };
};
