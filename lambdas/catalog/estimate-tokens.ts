import type {
  Block,
  DocumentBlock,
  GenerationRequest,
  NativeTool,
  Tool,
} from '../protocols/generation.ts';
import type { Json } from '../protocols/json.ts';
import { countText } from './count-text.ts';

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

/** Estimates a request's input tokens by rules, within a few per cent of a tokenizer (decision 5). */
export const estimateInputTokens = ({ turns, tools = [] }: GenerationRequest): number => {
  const parts = turns.flatMap(({ blocks }) => [TOKENS_PER_TURN, ...blocks.flatMap(partsOfBlock)]);
  const counts = parts.filter((part) => typeof part === 'number');
  const texts = parts.filter((part) => typeof part === 'string');
  return (
    counts.reduce((total, tokens) => total + tokens, 0) +
    countText([...texts, ...tools.map(textOfTool)])
  );
};
