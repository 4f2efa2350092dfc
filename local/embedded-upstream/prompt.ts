import type {
  Block,
  GenerationRequest,
  ToolResultBlock,
} from '../../lambdas/protocols/generation.ts';

/** What the caller said since the model last spoke: all that the embedded model reacts to. */
export type Prompt = {
  text: string;
  results: ToolResultBlock[];
  /** What was attached, e.g. `image/png` or `url`. */
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
