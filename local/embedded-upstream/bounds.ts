import type {
  AnswerBlock,
  FinishReason,
  GenerationRequest,
} from '../../lambdas/protocols/generation.ts';

/** Splits a text losslessly into words, each with the white space before it. */
export const words = (text: string): string[] => text.match(/\s+\S*|\S+/g) ?? [];

/** The embedded model's tokens are words, so that a test's author can count them. */
export const countTokens = (text: string): number => words(text).length;

/** Content cut to the request's limits, and why it ended. */
export type Bounded = { blocks: AnswerBlock[]; reason: FinishReason };

const firstStop = (text: string, stops: string[]): { index: number; stop: string } | undefined =>
  stops
    .map((stop) => ({ stop, index: text.indexOf(stop) }))
    .filter(({ index }) => index !== -1)
    .toSorted((a, b) => a.index - b.index)[0];

/** Ends the content before the first stop sequence in its text. */
const stopAtSequence = (content: Bounded, stops: string[]): Bounded => {
  for (const [position, block] of content.blocks.entries()) {
    const found = block.type === 'text' ? firstStop(block.text, stops) : undefined;
    if (!found || block.type !== 'text') continue;
    const cut = { ...block, text: block.text.slice(0, found.index) };
    return {
      blocks: [...content.blocks.slice(0, position), cut],
      reason: { unified: 'stop-sequence', stopSequence: found.stop },
    };
  }
  return content;
};

const cutBlock = (block: AnswerBlock, budget: number): AnswerBlock => {
  const cut = (text: string) => words(text).slice(0, budget).join('');
  if (block.type === 'tool-call') return { ...block, arguments: cut(block.arguments) };
  return block.type === 'native' ? block : { ...block, text: cut(block.text) };
};

const sizeOf = (block: AnswerBlock): number => {
  if (block.type === 'native') return 0;
  return words(block.type === 'tool-call' ? block.arguments : block.text).length;
};

/** Ends the content after `maxTokens` words, thinking and arguments included. */
const stopAtLength = (content: Bounded, maxTokens: number): Bounded => {
  let budget = maxTokens;
  for (const [position, block] of content.blocks.entries()) {
    const size = sizeOf(block);
    if (size <= budget) {
      budget -= size;
      continue;
    }
    const rest = budget > 0 ? [cutBlock(block, budget)] : [];
    return {
      blocks: [...content.blocks.slice(0, position), ...rest],
      reason: { unified: 'length' },
    };
  }
  return content;
};

/** Applies the request's stop sequences, then its token limit. */
export const bound = (
  content: Bounded,
  { stop = [], maxTokens = Number.POSITIVE_INFINITY }: GenerationRequest,
): Bounded => stopAtLength(stopAtSequence(content, stop), maxTokens);

export const outputTokens = (blocks: AnswerBlock[]): number =>
  blocks.reduce((sum, block) => sum + sizeOf(block), 0);
