import type {
  Block,
  GenerationRequest,
  ToolResultBlock,
} from '../../lambdas/protocols/generation.ts';

/** User content after the last assistant turn, the only input of the embedded model. */
export type Prompt = {
  text: string;
  results: ToolResultBlock[];
  /** Media types of the attached images, or `url`. */
  images: string[];
  documents: number;
};

export const textOf = (blocks: Block[]): string =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

const imagesIn = (blocks: Block[]): string[] =>
  blocks.flatMap((block) => {
    if (block.type === 'tool-result') return imagesIn(block.content);
    if (block.type !== 'image') return [];
    return [block.source.kind === 'url' ? 'url' : block.source.mediaType];
  });

export const readPrompt = ({ turns }: GenerationRequest): Prompt => {
  const lastAnswer = turns.findLastIndex(({ role }) => role === 'assistant');
  const blocks = turns
    .slice(lastAnswer + 1)
    .filter(({ role }) => role === 'user')
    .flatMap((turn) => turn.blocks);
  return {
    text: textOf(blocks),
    results: blocks.filter((block) => block.type === 'tool-result'),
    images: imagesIn(blocks),
    documents: blocks.filter(({ type }) => type === 'document').length,
  };
};
