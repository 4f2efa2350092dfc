import { extraFieldsFor } from '../extras.ts';
import type { Block, ToolResultBlock } from '../generation.ts';
import type { Json } from '../json.ts';
import { encodePart, joinTexts, type WireContent } from './content.ts';
import { NAME } from './name.ts';

export const isResult = (block: Block): block is ToolResultBlock => block.type === 'tool-result';

/** Content that a tool message cannot hold; documents of plain text become text. */
const isMedia = (block: Block): boolean =>
  block.type === 'image' || (block.type === 'document' && block.source.kind !== 'text');

const asText = (block: Block): Block => {
  if (block.type !== 'document' || block.source.kind !== 'text') return block;
  const { title, source } = block;
  return { type: 'text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
};

/** Chat has no flag for a failed result. */
const markError = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `[tool error] ${content}`.trimEnd()
    : [{ type: 'text', text: '[tool error]' }, ...content];

const pointAt = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `${content}\n[attached below]`.trim()
    : [...content, { type: 'text', text: '[attached below]' }];

const encodeResult = ({ callId, content, isError, extras }: ToolResultBlock): Json => {
  const text = content.filter((block) => !isMedia(block)).map(asText);
  const joined = joinTexts(text, '\n');
  const wire = content.some(isMedia) ? pointAt(joined) : joined;
  return {
    ...extraFieldsFor(NAME, extras),
    role: 'tool',
    tool_call_id: callId,
    content: isError ? markError(wire) : wire,
  };
};

const attachmentsOf = ({ callId, content }: ToolResultBlock): Json[] => {
  const media = content.filter(isMedia).flatMap(encodePart);
  const label = `Attached to the result of tool call ${callId}:`;
  return media.length > 0 ? [{ type: 'text', text: label }, ...media] : [];
};

/**
 * Results as separate messages before all other content: upstreams require them right after their
 * calls. They carry text only, so media follow in a user message that names their call.
 */
export const encodeToolResults = (results: ToolResultBlock[]): Json[] => {
  const attached = results.flatMap(attachmentsOf);
  const messages = results.map(encodeResult);
  return attached.length > 0 ? [...messages, { role: 'user', content: attached }] : messages;
};
