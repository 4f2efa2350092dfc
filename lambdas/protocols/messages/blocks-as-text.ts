import type { Block } from '../generation.ts';
import { asArray, asRecord, asString, type Json } from '../json.ts';
import { NAME } from './name.ts';

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

// The summary of a conversation that was cut: without it all that was said before is lost.
const compaction = ({ content }: Json): string | undefined => textsOf(content);

const toolReference = ({ tool_name: name }: Json): string | undefined =>
  typeof name === 'string' ? `The tool '${name}' is available.` : undefined;

const documentOfTexts = ({ title, source }: Json): string | undefined => {
  const text = textsOf(asRecord(source)?.content);
  return text === undefined ? undefined : [asString(title), text].filter(Boolean).join('\n\n');
};

/** How blocks that only this family has are said in words. */
const IN_WORDS = new Map([
  ['search_result', searchResult],
  ['compaction', compaction],
  ['tool_reference', toolReference],
  ['document', documentOfTexts],
]);

/**
 * A block of this family that has a meaning in plain words, as text that keeps the block beside it; any
 * other as foreign.
 */
export const decodeAsText = (block: Json): Block => {
  const text = IN_WORDS.get(asString(block.type) ?? '')?.(block);
  return text === undefined
    ? { type: 'native', protocol: NAME, value: block }
    : { type: 'text', text, extras: { protocol: NAME, fields: block } };
};

/** The block behind such a text. */
export const originalBlock = (fields: Json): Json | undefined =>
  typeof fields.type === 'string' ? fields : undefined;
