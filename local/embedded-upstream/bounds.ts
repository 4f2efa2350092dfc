import type {
  AnswerBlock,
  FinishReason,
  GenerationRequest,
} from '../../lambdas/protocols/generation.ts';
import { words } from './words.ts';

/** An answer within the caller's bounds, and why it ended. */
export type Bounded = { blocks: AnswerBlock[]; reason: FinishReason };

/** The stop sequence that comes first in `text`. */
const firstStop = (text: string, stops: string[]): { at: number; stop: string } | undefined =>
  stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0];

/** Ends the answer before the first stop sequence in its text. */
const stopAtSequence = (answer: Bounded, stops: string[]): Bounded => {
  for (const [position, block] of answer.blocks.entries()) {
    const found = block.type === 'text' ? firstStop(block.text, stops) : undefined;
    if (!found || block.type !== 'text') continue;
    const cut = { ...block, text: block.text.slice(0, found.at) };
    return {
      blocks: [...answer.blocks.slice(0, position), cut],
      reason: { unified: 'stop-sequence', stopSequence: found.stop },
    };
  }
  return answer;
};

const cutBlock = (block: AnswerBlock, budget: number): AnswerBlock => {
  const cut = (text: string) => words(text).slice(0, budget).join('');
  if (block.type === 'tool-call') return { ...block, arguments: cut(block.arguments) };
  return block.type === 'foreign' ? block : { ...block, text: cut(block.text) };
};

const sizeOf = (block: AnswerBlock): number => {
  if (block.type === 'foreign') return 0;
  return words(block.type === 'tool-call' ? block.arguments : block.text).length;
};

/** Ends the answer once it is `maxTokens` words long, thinking and arguments included. */
const stopAtLength = (answer: Bounded, maxTokens: number): Bounded => {
  let budget = maxTokens;
  for (const [position, block] of answer.blocks.entries()) {
    const size = sizeOf(block);
    if (size <= budget) {
      budget -= size;
      continue;
    }
    const rest = budget > 0 ? [cutBlock(block, budget)] : [];
    return {
      blocks: [...answer.blocks.slice(0, position), ...rest],
      reason: { unified: 'length' },
    };
  }
  return answer;
};

export const bound = (
  answer: Bounded,
  { stop = [], maxTokens = Number.POSITIVE_INFINITY }: GenerationRequest,
): Bounded => stopAtLength(stopAtSequence(answer, stop), maxTokens);

/** Tokens (words) of the blocks of one kind, or of all. */
export const outputTokens = (blocks: AnswerBlock[]): number =>
  blocks.reduce((sum, block) => sum + sizeOf(block), 0);
