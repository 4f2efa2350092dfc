import type { Block, ForeignTool, GenerationRequest, Tool } from '../protocols/generation.ts';
import { countText } from './count-text.ts';

/** What vendors charge for a picture of ordinary size; its real size is known to the upstream only. */
const TOKENS_PER_IMAGE = 1_600;
/** Base64 of a document carries 3 bytes in 4 characters; about one token in 4 bytes of text in it. */
const BASE64_CHARACTERS_PER_TOKEN = 6;
/** Role and separators around each message. */
const TOKENS_PER_TURN = 4;

/** A part of a request: text that is to be counted, or tokens that are known without. */
type Part = string | number;

const partsOfBlock = (block: Block): Part[] => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return [block.text];
    case 'image':
      return [TOKENS_PER_IMAGE];
    case 'document':
      if (block.source.kind === 'text') return [block.source.text];
      return block.source.kind === 'base64'
        ? [Math.ceil(block.source.data.length / BASE64_CHARACTERS_PER_TOKEN)]
        : [TOKENS_PER_IMAGE];
    case 'tool-call':
      return [block.name, block.arguments];
    case 'tool-result':
      return block.content.flatMap(partsOfBlock);
    case 'foreign':
      return [JSON.stringify(block.value)];
    default:
      return block satisfies never;
  }
};

const textOfTool = (tool: Tool | ForeignTool): string => {
  if ('foreign' in tool) return JSON.stringify(tool.value);
  const { name, description = '', parameters } = tool;
  return `${name} ${description} ${JSON.stringify(parameters)}`;
};

/** Input tokens of a request, by rules: within some per cent of a tokenizer's (decision 5), never exact. */
export const estimateInputTokens = ({ turns, tools = [] }: GenerationRequest): number => {
  const parts = turns.flatMap(({ blocks }) => [TOKENS_PER_TURN, ...blocks.flatMap(partsOfBlock)]);
  const known = parts.filter((part) => typeof part === 'number');
  const texts = parts.filter((part) => typeof part === 'string');
  return (
    known.reduce((total, tokens) => total + tokens, 0) +
    countText([...texts, ...tools.map(textOfTool)])
  );
};
