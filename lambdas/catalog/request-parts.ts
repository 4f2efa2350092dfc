import { sizeOfImage, tokensOfPdf } from '#late/media';
import { asRecord, isTooDeep, type Json, readJsonObject } from '../protocols/bytes/json.ts';
import type {
  Block,
  DocumentBlock,
  GenerationRequest,
  ImageBlock,
  NativeTool,
  Tool,
  ToolCallBlock,
  Turn,
} from '../protocols/generation.ts';
import type { Image } from './image-tokens.ts';

/** What a request's tokens depend on, the same for every vendor. */
export type RequestParts = {
  /** System prompts, assistant turns, tool results, and user turns with anything else. */
  messages: number;
  calls: number;
  /** Members of the calls' arguments: most vendors write each one as a tag. */
  arguments: number;
  tools: number;
  /** Members and items in the schemas of tools: vendors write them with a space after each sign. */
  members: number;
  /** Names and descriptions of tools, their schemas without those, all other text. */
  descriptions: string[];
  schema: string[];
  text: string[];
  /** Which of these texts are arguments of calls and results of tools: some vendors write them as JSON strings. */
  quoted: number[];
  /** What some vendors leave out: thinking, blocks of one protocol. */
  droppable: string[];
  /** System turns after the first turn of another role: of these, others. */
  laterSystem: string[];
  images: Image[];
  /** Tokens of documents and other media, by their size. */
  mediaTokens: number;
  /** Bytes that may still be inflated of its files. */
  inflatable: number;
};

/** Tokens of a medium of unknown size. */
export const TOKENS_PER_MEDIUM = 1_600;
/** Four bytes of text a token, and three bytes in four characters of base64. */
const TEXT_CHARACTERS_PER_TOKEN = 5.3;
/** Audio, encrypted search results: text that a model does not read as letters. */
const OPAQUE = /^(?:data:[^,]*,)?[A-Za-z0-9+/_=-]{512,}$/;
/** Limit of what is inflated of a request's files: 10 ms of CPU. */
const MAX_INFLATED = 4_194_304;
/** Longer arguments are read as one text, so that they are not parsed a second time. */
const MAX_PARSED = 65_536;

const imageOf = ({ source, extras }: ImageBlock): Image => ({
  size: source.kind === 'base64' ? sizeOfImage(source.data) : undefined,
  isLow: asRecord(extras?.fields.image_url)?.detail === 'low',
});

const addDocument = (parts: RequestParts, { source }: DocumentBlock): void => {
  if (source.kind === 'text') parts.text.push(source.text);
  else if (source.kind === 'url') parts.mediaTokens += TOKENS_PER_MEDIUM;
  else {
    const { mediaType, data } = source;
    const isText = mediaType.startsWith('text/');
    parts.mediaTokens += Math.ceil(
      isText ? data.length / TEXT_CHARACTERS_PER_TOKEN : tokensOfPdf(data, parts),
    );
  }
};

/** Its text, and for each of its media the tokens of an image, or fewer if it is short. */
const addNative = (parts: RequestParts, value: Json): void => {
  const text = JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'string' || !OPAQUE.test(member)) return member;
    const tokens = Math.ceil(member.length / TEXT_CHARACTERS_PER_TOKEN);
    parts.mediaTokens += Math.min(TOKENS_PER_MEDIUM, tokens);
    return '';
  });
  parts.droppable.push(text);
};

/** The members of its arguments: vendors write text in them as it is, not as JSON. */
const addCall = (parts: RequestParts, call: ToolCallBlock): void => {
  parts.calls += 1;
  parts.text.push(call.name);
  const members = call.arguments.length <= MAX_PARSED ? readJsonObject(call.arguments) : undefined;
  if (!members || isTooDeep(members)) {
    parts.text.push(call.arguments);
    return;
  }
  // Names are listed faster than entries.
  for (const name of Object.keys(members)) {
    const value = members[name];
    parts.arguments += 1;
    if (typeof value === 'string') parts.quoted.push(parts.text.length + 1);
    parts.text.push(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
};

const addBlock = (parts: RequestParts, block: Block, texts = parts.text): void => {
  switch (block.type) {
    case 'text':
      texts.push(block.text);
      return;
    case 'thinking':
      parts.droppable.push(block.text);
      return;
    case 'image':
      parts.images.push(imageOf(block));
      return;
    case 'document':
      addDocument(parts, block);
      return;
    case 'tool-call':
      addCall(parts, block);
      return;
    case 'tool-result':
      parts.messages += 1;
      for (const each of block.content) {
        if (each.type === 'text') parts.quoted.push(parts.text.length);
        addBlock(parts, each);
      }
      return;
    case 'native':
      addNative(parts, block.value);
      return;
    default:
      block satisfies never;
  }
};

const addTurn = (parts: RequestParts, { role, blocks }: Turn, texts = parts.text): void => {
  const isResults = role === 'user' && blocks.every(({ type }) => type === 'tool-result');
  if (!isResults) parts.messages += 1;
  for (const block of blocks) addBlock(parts, block, texts);
};

/** Writes a schema as JSON, without its descriptions: every vendor writes those, and the rest in different ways. */
const writeSchema = (parts: RequestParts, value: unknown): string => {
  parts.members += 1;
  if (typeof value === 'string') return `"${value}"`;
  if (Array.isArray(value)) return `[${value.map((item) => writeSchema(parts, item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  let text = '';
  for (const key of Object.keys(value)) {
    const member = (value as Json)[key];
    if (key === 'description' && typeof member === 'string') {
      parts.members += 1;
      parts.descriptions.push(member);
    } else text += `${text === '' ? '' : ','}"${key}":${writeSchema(parts, member)}`;
  }
  return `{${text}}`;
};

const addTool = (parts: RequestParts, tool: Tool | NativeTool): void => {
  if ('native' in tool) {
    parts.schema.push(JSON.stringify(tool.value));
    return;
  }
  parts.descriptions.push(tool.name, tool.description ?? '');
  parts.schema.push(writeSchema(parts, tool.parameters));
};

/** UTF-8 bytes of all texts: no vendor's tokenizer counts more tokens. */
export const bytesOf = ({ descriptions, schema, text, ...rest }: RequestParts): number =>
  [descriptions, schema, text, rest.droppable, rest.laterSystem]
    .flat()
    .reduce((bytes, each) => bytes + Buffer.byteLength(each), 0);

export const partsOf = ({ turns, tools = [] }: GenerationRequest): RequestParts => {
  const parts: RequestParts = {
    messages: 0,
    calls: 0,
    arguments: 0,
    tools: tools.length,
    members: 0,
    descriptions: [],
    schema: [],
    text: [],
    quoted: [],
    droppable: [],
    laterSystem: [],
    images: [],
    mediaTokens: 0,
    inflatable: MAX_INFLATED,
  };
  let isLater = false;
  for (const turn of turns) {
    const isSystem = turn.role === 'system';
    isLater ||= !isSystem;
    addTurn(parts, turn, isLater && isSystem ? parts.laterSystem : parts.text);
  }
  for (const tool of tools) addTool(parts, tool);
  return parts;
};
