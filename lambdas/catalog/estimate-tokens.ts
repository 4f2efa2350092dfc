import type {
  Block,
  DocumentBlock,
  GenerationRequest,
  NativeTool,
  Tool,
} from '../protocols/generation.ts';
import type { Json } from '../protocols/json.ts';
import { tokensOfText } from './tokens-of-text.ts';

/** Vendors' count for an image of ordinary size; the router does not decode images. */
const TOKENS_PER_IMAGE = 1_600;
/** Four bytes of text a token, and three bytes in four characters of base64. */
const TEXT_CHARACTERS_PER_TOKEN = 5.3;
/** A page of a PDF is some 3,000 tokens, as text and as a picture, and some 75 KB. */
const PDF_CHARACTERS_PER_TOKEN = 33;
/** Audio, encrypted search results: text that a model does not read as letters. */
const OPAQUE = /^(?:data:[^,]*,)?[A-Za-z0-9+/_=-]{512,}$/;
/** Role and separators around each message. */
const TOKENS_PER_TURN = 4;

/** A part of a request: text to count, or its number of tokens. */
type Part = string | number;

const partsOfDocument = ({ source }: DocumentBlock): Part[] => {
  if (source.kind === 'text') return [source.text];
  if (source.kind === 'url') return [TOKENS_PER_IMAGE];
  const isText = source.mediaType.startsWith('text/');
  const perToken = isText ? TEXT_CHARACTERS_PER_TOKEN : PDF_CHARACTERS_PER_TOKEN;
  return [Math.ceil(source.data.length / perToken)];
};

/** Its text, and for each of its media the tokens of an image, or fewer if it is short. */
const partsOfNative = (value: Json): Part[] => {
  const media: number[] = [];
  const text = JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'string' || !OPAQUE.test(member)) return member;
    media.push(Math.min(TOKENS_PER_IMAGE, Math.ceil(member.length / TEXT_CHARACTERS_PER_TOKEN)));
    return '';
  });
  return [text, ...media];
};

const partsOfBlock = (block: Block): Part[] => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return [block.text];
    case 'image':
      return [TOKENS_PER_IMAGE];
    case 'document':
      return partsOfDocument(block);
    case 'tool-call':
      return [block.name, block.arguments];
    case 'tool-result':
      return block.content.flatMap(partsOfBlock);
    case 'native':
      return partsOfNative(block.value);
    default:
      return block satisfies never;
  }
};

const textOfTool = (tool: Tool | NativeTool): string => {
  if ('native' in tool) return JSON.stringify(tool.value);
  const { name, description = '', parameters } = tool;
  return `${name} ${description} ${JSON.stringify(parameters)}`;
};

/** Characters that are looked at. It takes 5 ms of a core to count them, and 200 ms to count 5 MB. */
const MAX_COUNTED = 131_072;
const SLICE = 512;

/** Slices spread evenly over texts of `total` characters, as if they were one text. */
const slicesOf = (texts: string[], total: number): string[] => {
  const step = total / (MAX_COUNTED / SLICE);
  const slices: string[] = [];
  let begin = 0;
  let next = 0;
  for (const text of texts) {
    for (; next < begin + text.length; next += step) {
      const from = Math.floor(next - begin);
      slices.push(text.slice(from, from + SLICE));
    }
    begin += text.length;
  }
  return slices;
};

const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0);
const lengthOf = (texts: string[]): number => sum(texts.map(({ length }) => length));
const tokensOf = (texts: string[]): number => sum(texts.map(tokensOfText));

/** Tokens of texts, estimated; of long ones by samples, so that no prompt holds up its own request. */
export const countText = (texts: string[]): number => {
  const total = lengthOf(texts);
  if (total <= MAX_COUNTED) return Math.ceil(tokensOf(texts));
  const slices = slicesOf(texts, total);
  return Math.ceil((tokensOf(slices) / lengthOf(slices)) * total);
};

const partsOf = ({
  turns,
  tools = [],
}: GenerationRequest): { counts: number[]; texts: string[] } => {
  const parts = turns.flatMap(({ blocks }) => [TOKENS_PER_TURN, ...blocks.flatMap(partsOfBlock)]);
  const counts = parts.filter((part) => typeof part === 'number');
  const texts = parts.filter((part) => typeof part === 'string');
  return { counts, texts: [...texts, ...tools.map(textOfTool)] };
};

/** Estimates a request's input tokens by rules, within a few per cent of a tokenizer (decision 5). */
export const estimateInputTokens = (request: GenerationRequest): number => {
  const { counts, texts } = partsOf(request);
  return sum(counts) + countText(texts);
};

/**
 * No tokenizer counts more for the request: those of all vendors fall back to a token a byte of UTF-8. Only
 * media, which are not read as text, are estimated.
 */
export const maxInputTokens = (request: GenerationRequest): number => {
  const { counts, texts } = partsOf(request);
  return sum(counts) + sum(texts.map((text) => Buffer.byteLength(text)));
};

/** Pictures and documents whose address is shorter than their tokens. */
const countMedia = (blocks: Block[]): number =>
  blocks.reduce((count, block) => {
    if (block.type === 'tool-result') return count + countMedia(block.content);
    return count + (block.type === 'image' || block.type === 'document' ? 1 : 0);
  }, 0);

/** Not below `maxInputTokens` of a request with a body of `bytes`, without a look at its texts. */
export const boundInputTokens = ({ turns }: GenerationRequest, bytes: number): number =>
  turns.reduce(
    (total, { blocks }) => total + TOKENS_PER_TURN + TOKENS_PER_IMAGE * countMedia(blocks),
    bytes,
  );
