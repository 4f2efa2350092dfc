import type {
  Block,
  DocumentBlock,
  GenerationRequest,
  MediaSource,
  NativeTool,
  Tool,
  ToolCallBlock,
  Turn,
} from '../protocols/generation.ts';
import { isTooDeep, type Json, readJsonObject } from '../protocols/json.ts';
import { type Size, sizeOfImage } from './image-size.ts';
import { scanText, startScan } from './text-features.ts';
import type { Tokenizer } from './tokenizer.ts';

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
  /** Features of the names and descriptions of tools, of their schemas without those, of all other text. */
  descriptions: Float64Array;
  schema: Float64Array;
  text: Float64Array;
  /** Sizes of images, undefined where the router cannot read one. */
  images: (Size | undefined)[];
  /** Tokens of documents and other media, by their size. */
  mediaTokens: number;
  /** The texts that the features are of. */
  texts: Record<'descriptions' | 'schema' | 'text', string[]>;
  /** UTF-8 bytes of all texts: no vendor's tokenizer counts more. */
  bytes: number;
};

/** Tokens of a medium of unknown size. */
export const TOKENS_PER_MEDIUM = 1_600;
/** Four bytes of text a token, and three bytes in four characters of base64. */
const TEXT_CHARACTERS_PER_TOKEN = 5.3;
/** A page of a PDF is some 3,000 tokens, as text and as a picture, and some 75 KB. */
const PDF_CHARACTERS_PER_TOKEN = 33;
/** Audio, encrypted search results: text that a model does not read as letters. */
const OPAQUE = /^(?:data:[^,]*,)?[A-Za-z0-9+/_=-]{512,}$/;
/** Longer arguments are read as one text, so that they are not parsed a second time. */
const MAX_PARSED = 65_536;

/** Characters that are looked at: counting 5 MB whole would hold up a small function for a second. */
const MAX_SCANNED = 131_072;
const SLICE = 512;

/** How much is read, in slices of which size. */
type Sampling = { scanned: number; slice: number; read(slice: string): void };

/** Reads slices spread evenly over the texts, as if they were one. Returns how many characters it read. */
const readSlices = (texts: string[], total: number, sampling: Sampling): number => {
  const { slice: size, read } = sampling;
  const step = Math.floor(total / (sampling.scanned / size));
  let scanned = 0;
  let left = size;
  let gap = 0;
  for (const text of texts) {
    let from = gap;
    while (from < text.length) {
      const slice = text.slice(from, from + left);
      read(slice);
      scanned += slice.length;
      left -= slice.length;
      from += slice.length;
      if (left > 0) continue;
      left = size;
      from += step - size;
    }
    gap = from - text.length;
  }
  return scanned;
};

const lengthOf = (texts: string[]): number => texts.reduce((sum, { length }) => sum + length, 0);

/** Counting takes up to 100 ms for so many characters, of any kind. */
const MAX_COUNTED = 65_536;
/** A token at each end of a slice is cut: these are long enough that it does not count. */
const COUNTED_SLICE = 4_096;

/** The tokens of texts, of long ones by samples. */
export const countTexts = (texts: string[], { count }: Tokenizer): number => {
  const total = lengthOf(texts);
  let tokens = 0;
  const read = (text: string) => {
    tokens += count(text);
  };
  if (total > MAX_COUNTED) {
    const sampling = { scanned: MAX_COUNTED, slice: COUNTED_SLICE, read };
    const scanned = readSlices(texts, total, sampling);
    return (tokens * total) / scanned;
  }
  for (const text of texts) read(text);
  return tokens;
};

/** The features of texts, of long ones by samples. */
export const scanTexts = (texts: string[]): Float64Array => {
  const scan = startScan();
  const total = lengthOf(texts);
  if (total <= MAX_SCANNED) {
    for (const text of texts) scanText(scan, text);
    return scan.counts;
  }
  const read = (text: string) => scanText(scan, text);
  const scanned = readSlices(texts, total, { scanned: MAX_SCANNED, slice: SLICE, read });
  return scan.counts.map((feature) => (feature * total) / scanned);
};

type Collected = {
  messages: number;
  calls: number;
  arguments: number;
  members: number;
  descriptions: string[];
  schema: string[];
  text: string[];
  images: (Size | undefined)[];
  mediaTokens: number;
};

const sizeOf = (source: MediaSource): Size | undefined =>
  source.kind === 'base64' ? sizeOfImage(source.data) : undefined;

const addDocument = (parts: Collected, { source }: DocumentBlock): void => {
  if (source.kind === 'text') parts.text.push(source.text);
  else if (source.kind === 'url') parts.mediaTokens += TOKENS_PER_MEDIUM;
  else {
    const isText = source.mediaType.startsWith('text/');
    const perToken = isText ? TEXT_CHARACTERS_PER_TOKEN : PDF_CHARACTERS_PER_TOKEN;
    parts.mediaTokens += Math.ceil(source.data.length / perToken);
  }
};

/** Its text, and for each of its media the tokens of an image, or fewer if it is short. */
const addNative = (parts: Collected, value: Json): void => {
  const text = JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'string' || !OPAQUE.test(member)) return member;
    const tokens = Math.ceil(member.length / TEXT_CHARACTERS_PER_TOKEN);
    parts.mediaTokens += Math.min(TOKENS_PER_MEDIUM, tokens);
    return '';
  });
  parts.text.push(text);
};

/** The members of its arguments: vendors write text in them as it is, not as JSON. */
const addCall = (parts: Collected, call: ToolCallBlock): void => {
  parts.calls += 1;
  parts.text.push(call.name);
  const members = call.arguments.length <= MAX_PARSED ? readJsonObject(call.arguments) : undefined;
  if (!members || isTooDeep(members)) {
    parts.text.push(call.arguments);
    return;
  }
  for (const [name, value] of Object.entries(members)) {
    parts.arguments += 1;
    parts.text.push(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
};

const addBlock = (parts: Collected, block: Block): void => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      parts.text.push(block.text);
      return;
    case 'image':
      parts.images.push(sizeOf(block.source));
      return;
    case 'document':
      addDocument(parts, block);
      return;
    case 'tool-call':
      addCall(parts, block);
      return;
    case 'tool-result':
      parts.messages += 1;
      for (const each of block.content) addBlock(parts, each);
      return;
    case 'native':
      addNative(parts, block.value);
      return;
    default:
      block satisfies never;
  }
};

const addTurn = (parts: Collected, { role, blocks }: Turn): void => {
  const isResults = role === 'user' && blocks.every(({ type }) => type === 'tool-result');
  if (!isResults) parts.messages += 1;
  for (const block of blocks) addBlock(parts, block);
};

/** Splits its schema into descriptions, which every vendor writes, and the rest, which each writes differently. */
const addTool = (parts: Collected, tool: Tool | NativeTool): void => {
  if ('native' in tool) {
    parts.schema.push(JSON.stringify(tool.value));
    return;
  }
  parts.descriptions.push(tool.name, tool.description ?? '');
  const schema = JSON.stringify(tool.parameters, (key, value: unknown) => {
    parts.members += 1;
    if (key !== 'description' || typeof value !== 'string') return value;
    parts.descriptions.push(value);
    return undefined;
  });
  parts.schema.push(schema);
};

const bytesOf = (texts: string[]): number =>
  texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);

/** Reads a request once. Its texts are sampled if they are long, so that no prompt holds up its own request. */
export const partsOf = ({ turns, tools = [] }: GenerationRequest): RequestParts => {
  const parts: Collected = {
    messages: 0,
    calls: 0,
    arguments: 0,
    members: 0,
    descriptions: [],
    schema: [],
    text: [],
    images: [],
    mediaTokens: 0,
  };
  for (const turn of turns) addTurn(parts, turn);
  for (const tool of tools) addTool(parts, tool);
  const { descriptions, schema, text, ...numbers } = parts;
  return {
    ...numbers,
    texts: { descriptions, schema, text },
    tools: tools.length,
    descriptions: scanTexts(descriptions),
    schema: scanTexts(schema),
    text: scanTexts(text),
    bytes: bytesOf(descriptions) + bytesOf(schema) + bytesOf(text),
  };
};
