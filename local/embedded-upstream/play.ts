import type {
  AnswerBlock,
  BlockHead,
  Generation,
  GenerationEvent,
} from '../../lambdas/protocols/generation.ts';
import { words } from './words.ts';

/** Providers split arguments without regard to JSON; an odd length splits inside names and strings. */
const ARGUMENT_FRAGMENT = 7;

const headOf = (block: AnswerBlock): BlockHead => {
  if (block.type === 'tool-call') return { type: block.type, id: block.id, name: block.name };
  return block.type === 'foreign' ? block : { type: block.type };
};

const fragments = (text: string): string[] =>
  Array.from({ length: Math.ceil(text.length / ARGUMENT_FRAGMENT) }, (_, position) =>
    text.slice(position * ARGUMENT_FRAGMENT, (position + 1) * ARGUMENT_FRAGMENT),
  );

const deltasOf = (block: AnswerBlock): string[] => {
  if (block.type === 'foreign') return [];
  return block.type === 'tool-call' ? fragments(block.arguments) : words(block.text);
};

const ofBlock = (block: AnswerBlock, index: number): GenerationEvent[] => {
  const signature = block.type === 'thinking' ? block.signature : undefined;
  return [
    { type: 'block-start', index, block: headOf(block) },
    ...deltasOf(block).map((delta): GenerationEvent => ({ type: 'block-delta', index, delta })),
    { type: 'block-end', index, ...(signature === undefined ? {} : { signature }) },
  ];
};

/** A whole answer as the stream it would have been: text word by word, arguments in short pieces. */
export const play = ({ blocks, reason, usage }: Generation): GenerationEvent[] => [
  { type: 'start', ...(usage ? { usage: { inputTokens: usage.inputTokens } } : {}) },
  ...blocks.flatMap(ofBlock),
  { type: 'finish', reason, usage },
];
