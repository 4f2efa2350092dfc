import { compact, isEmpty } from '../../support/compact.ts';
import { invalidRequest } from '../../support/errors.ts';
import type { Block, ToolCallBlock, ToolResultBlock, Turn } from '../generation.ts';
import { assertImage, formatMediaUrl, parseMediaUrl } from '../media.ts';
import { fieldsFor, rideIfAny } from '../parse-wire.ts';
import type { ContentPart, Message } from './wire.ts';

const NAME = 'chat';

// --- wire -> canonical ---

const decodeFile = (part: Extract<ContentPart, { type: 'file' }>, param: string): Block => {
  const { file_data: data, filename } = part.file as { file_data?: string; filename?: string };
  // A file id means something to the upstream that holds the file and to nobody else.
  if (data === undefined) return { type: 'foreign', protocol: NAME, value: part };
  const source = parseMediaUrl(data, `${param}.file.file_data`);
  return compact({ type: 'document' as const, source, title: filename });
};

const decodePart = (part: ContentPart, param: string): Block => {
  switch (part.type) {
    case 'text': {
      const { type, text, ...fields } = part as { type: 'text'; text: string };
      return { type, text, ...rideIfAny(NAME, fields) };
    }
    case 'refusal':
      return { type: 'text', text: (part as { refusal: string }).refusal };
    case 'image_url': {
      const {
        image_url: image,
        type: _,
        ...fields
      } = part as {
        type: string;
        image_url: { url: string };
      };
      const { url, ...detail } = image;
      const at = `${param}.image_url.url`;
      const source = assertImage(parseMediaUrl(url, at), at);
      const rest = Object.keys(detail).length > 0 ? { image_url: detail } : {};
      return { type: 'image', source, ...rideIfAny(NAME, { ...fields, ...rest }) };
    }
    case 'file':
      return decodeFile(part as Extract<ContentPart, { type: 'file' }>, param);
    default:
      return { type: 'foreign', protocol: NAME, value: part };
  }
};

const decodeContent = (content: string | ContentPart[] | undefined, param: string): Block[] => {
  if (content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index) => decodePart(part, `${param}.content.${index}`));
};

const decodeAssistant = (message: Extract<Message, { role: 'assistant' }>, param: string): Turn => {
  const {
    role,
    content,
    refusal,
    reasoning_content: reasoning,
    tool_calls: calls,
    ...fields
  } = message;
  const blocks: Block[] = [
    ...(reasoning ? [{ type: 'thinking' as const, text: reasoning }] : []),
    ...decodeContent(content, param),
    ...(refusal ? [{ type: 'text' as const, text: refusal }] : []),
    ...(calls ?? []).map(({ id, type: _, function: called, ...rest }): ToolCallBlock => {
      const { name, arguments: text, ...extra } = called;
      const nested = Object.keys(extra).length > 0 ? { function: extra } : {};
      return {
        type: 'tool-call',
        id,
        name,
        arguments: text ?? '',
        ...rideIfAny(NAME, { ...rest, ...nested }),
      };
    }),
  ];
  return { role, blocks, ...rideIfAny(NAME, fields) };
};

export const decodeMessage = (message: Message, index: number): Turn => {
  const param = `messages.${index}`;
  switch (message.role) {
    case 'system':
    case 'developer': {
      // The newer name for the same role; upstreams of either age know `system`.
      const { role: _, content, ...fields } = message;
      return { role: 'system', blocks: decodeContent(content, param), ...rideIfAny(NAME, fields) };
    }
    case 'user': {
      const { role, content, ...fields } = message;
      const blocks = decodeContent(content, param);
      return { role, blocks, ...rideIfAny(NAME, fields) };
    }
    case 'assistant':
      return decodeAssistant(message, param);
    case 'tool': {
      const { role: _, content, tool_call_id: callId, ...fields } = message;
      const result: ToolResultBlock = {
        type: 'tool-result',
        callId,
        content: decodeContent(content, param),
        ...rideIfAny(NAME, fields),
      };
      return { role: 'user', blocks: [result] };
    }
    default:
      return message satisfies never;
  }
};

// --- canonical -> wire ---

type WireContent = string | Record<string, unknown>[];

const encodePart = (block: Block): Record<string, unknown>[] => {
  switch (block.type) {
    case 'text':
      return [{ ...fieldsFor(NAME, block.extras), type: 'text', text: block.text }];
    case 'image': {
      const { image_url: detail, ...fields } = fieldsFor(NAME, block.extras);
      const url = formatMediaUrl(block.source);
      return [{ ...fields, type: 'image_url', image_url: { ...(detail ?? {}), url } }];
    }
    case 'document':
      return [encodeDocument(block)];
    case 'foreign':
      return block.protocol === NAME ? [block.value] : [];
    default:
      return [];
  }
};

const encodeDocument = ({
  source,
  title,
}: Extract<Block, { type: 'document' }>): Record<string, unknown> => {
  if (source.kind === 'text') {
    return { type: 'text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
  }
  if (source.kind === 'url') {
    throw invalidRequest('Documents by URL are not supported by this model; send them as base64.');
  }
  const file = compact({ file_data: formatMediaUrl(source), filename: title });
  return { type: 'file', file };
};

/** A string where one plain text says it all: many upstreams take parts only from users. */
const encodeContent = (blocks: Block[]): WireContent => {
  const parts = blocks.flatMap(encodePart);
  const [first] = parts;
  const isPlain = parts.length === 1 && first?.type === 'text' && Object.keys(first).length === 2;
  if (parts.length === 0) return '';
  return isPlain ? String(first.text) : parts;
};

const isMedia = (block: Block): boolean => block.type === 'image' || block.type === 'document';

/** Texts of the other family as one string: parts outside user messages are refused by many upstreams. */
const joinTexts = (blocks: Block[], separator: string): WireContent => {
  const sayable = blocks.filter((block) => block.type !== 'foreign' || block.protocol === NAME);
  const isPlain = sayable.every(
    (block) => block.type === 'text' && isEmpty(fieldsFor(NAME, block.extras)),
  );
  if (!isPlain) return encodeContent(sayable);
  return sayable.map((block) => (block.type === 'text' ? block.text : '')).join(separator);
};

/** This wire has no flag for a failed result. */
const markError = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `[tool error] ${content}`
    : [{ type: 'text', text: '[tool error]' }, ...content];

/** Tool messages carry text only, so media follow in a user message that says where they belong. */
const encodeToolResults = (results: ToolResultBlock[]): Record<string, unknown>[] => {
  const attached: Record<string, unknown>[] = [];
  const messages = results.map(({ callId, content, isError, extras }) => {
    const fields = fieldsFor(NAME, extras);
    const media = content.filter(isMedia);
    let wire = joinTexts(
      content.filter((block) => !isMedia(block)),
      '\n',
    );
    if (media.length > 0) {
      attached.push({ type: 'text', text: `Attached to the result of tool call ${callId}:` });
      attached.push(...media.flatMap(encodePart));
      if (typeof wire === 'string') wire = `${wire}\n[attached below]`.trim();
    }
    return {
      ...fields,
      role: 'tool',
      tool_call_id: callId,
      content: isError ? markError(wire) : wire,
    };
  });
  return attached.length > 0 ? [...messages, { role: 'user', content: attached }] : messages;
};

const encodeAssistant = (turn: Turn, wireName: (name: string) => string) => {
  const text = turn.blocks.filter(
    ({ type }) => type !== 'thinking' && type !== 'tool-call' && type !== 'tool-result',
  );
  // Signed thinking is for the upstream that signed it, and none of this wire does.
  const thinking = turn.blocks.flatMap((block) =>
    block.type === 'thinking' && !block.signature && block.text !== '' ? [block.text] : [],
  );
  const calls = turn.blocks.flatMap((block) => {
    if (block.type !== 'tool-call') return [];
    const { function: nested, ...fields } = fieldsFor(NAME, block.extras);
    const called = {
      ...(nested ?? {}),
      name: wireName(block.name),
      arguments: block.arguments || '{}',
    };
    return [{ ...fields, id: block.id, type: 'function', function: called }];
  });
  const content = text.length === 0 ? null : joinTexts(text, '\n\n');
  return compact({
    ...fieldsFor(NAME, turn.extras),
    role: 'assistant',
    content: text.length === 0 && calls.length === 0 ? '' : content,
    reasoning_content: thinking.length > 0 ? thinking.join('\n') : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  });
};

/** An agent's accounting line; it changes on every request and would defeat the upstream's cache. */
const BILLING_LINE = /^x-anthropic-billing-header:/;

const encodeSystem = (turn: Turn): Record<string, unknown>[] => {
  const kept = turn.blocks.filter(
    (block) => block.type !== 'text' || !BILLING_LINE.test(block.text),
  );
  if (kept.length === 0 && turn.blocks.length > 0) return [];
  const content = joinTexts(kept, '\n\n');
  return [{ ...fieldsFor(NAME, turn.extras), role: 'system', content }];
};

const isResult = (block: Block): block is ToolResultBlock => block.type === 'tool-result';

/** One turn as the messages it takes: results become messages of their own, before what follows them. */
export const encodeTurn = (
  turn: Turn,
  wireName: (name: string) => string,
): Record<string, unknown>[] => {
  if (turn.role === 'assistant') return [encodeAssistant(turn, wireName)];
  if (turn.role === 'system') return encodeSystem(turn);
  const results = turn.blocks.filter(isResult);
  const rest = turn.blocks.filter((block) => !isResult(block));
  const message = {
    ...fieldsFor(NAME, turn.extras),
    role: turn.role,
    content: encodeContent(rest),
  };
  if (results.length === 0) return [message];
  return [...encodeToolResults(results), ...(rest.length > 0 ? [message] : [])];
};
