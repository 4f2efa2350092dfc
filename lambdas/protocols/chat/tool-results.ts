import { extraFieldsFor } from '../extras.ts';
import type { Block, ToolResultBlock } from '../generation.ts';
import type { Json } from '../json.ts';
import { encodePart, joinTexts, type WireContent } from './content.ts';
import { NAME } from './name.ts';

export const isResult = (block: Block): block is ToolResultBlock => block.type === 'tool-result';

/** What a tool message cannot hold. A document of plain text can be said in words. */
const isMedia = (block: Block): boolean =>
  block.type === 'image' || (block.type === 'document' && block.source.kind !== 'text');

const inWords = (block: Block): Block => {
  if (block.type !== 'document' || block.source.kind !== 'text') return block;
  const { title, source } = block;
  return { type: 'text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
};

/** This wire has no flag for a failed result. */
const markError = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `[tool error] ${content}`.trimEnd()
    : [{ type: 'text', text: '[tool error]' }, ...content];

const pointAt = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `${content}\n[attached below]`.trim()
    : [...content, { type: 'text', text: '[attached below]' }];

const encodeResult = ({ callId, content, isError, extras }: ToolResultBlock): Json => {
  const words = content.filter((block) => !isMedia(block)).map(inWords);
  const said = joinTexts(words, '\n');
  const told = content.some(isMedia) ? pointAt(said) : said;
  return {
    ...extraFieldsFor(NAME, extras),
    role: 'tool',
    tool_call_id: callId,
    content: isError ? markError(told) : told,
  };
};

const attachmentsOf = ({ callId, content }: ToolResultBlock): Json[] => {
  const media = content.filter(isMedia).flatMap(encodePart);
  const label = `Attached to the result of tool call ${callId}:`;
  return media.length > 0 ? [{ type: 'text', text: label }, ...media] : [];
};

/**
 * Results as messages of their own, all of them before anything else: upstreams want them right after
 * their calls. They carry text only, so media follow in a user message that says where they belong.
 */
export const encodeToolResults = (results: ToolResultBlock[]): Json[] => {
  const attached = results.flatMap(attachmentsOf);
  const messages = results.map(encodeResult);
  return attached.length > 0 ? [...messages, { role: 'user', content: attached }] : messages;
};
