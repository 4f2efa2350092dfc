import { estimateTokenCount } from 'tokenx';
import type { Block, ForeignTool, GenerationRequest, Tool } from '../protocols/generation.ts';

/** What vendors charge for a picture of ordinary size; its real size is known to the upstream only. */
const TOKENS_PER_IMAGE = 1_600;
/** Base64 of a document carries 3 bytes in 4 characters; about one token in 4 bytes of text in it. */
const BASE64_CHARACTERS_PER_TOKEN = 6;
/** Role and separators around each message. */
const TOKENS_PER_TURN = 4;

const tokensOfBlock = (block: Block): number => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return estimateTokenCount(block.text);
    case 'image':
      return TOKENS_PER_IMAGE;
    case 'document':
      if (block.source.kind === 'text') return estimateTokenCount(block.source.text);
      return block.source.kind === 'base64'
        ? Math.ceil(block.source.data.length / BASE64_CHARACTERS_PER_TOKEN)
        : TOKENS_PER_IMAGE;
    case 'tool-call':
      return estimateTokenCount(block.name) + estimateTokenCount(block.arguments);
    case 'tool-result':
      return sum(block.content.map(tokensOfBlock));
    case 'foreign':
      return estimateTokenCount(JSON.stringify(block.value));
    default:
      return block satisfies never;
  }
};

const tokensOfTool = (tool: Tool | ForeignTool): number => {
  if ('foreign' in tool) return estimateTokenCount(JSON.stringify(tool.value));
  const { name, description = '', parameters } = tool;
  return estimateTokenCount(`${name} ${description} ${JSON.stringify(parameters)}`);
};

const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0);

/** Input tokens of a request, by heuristics: right within a few per cent for prose, never exact. */
export const estimateInputTokens = ({ turns, tools = [] }: GenerationRequest): number =>
  sum(turns.map(({ blocks }) => TOKENS_PER_TURN + sum(blocks.map(tokensOfBlock)))) +
  sum(tools.map(tokensOfTool));
