import type { Block, GenerationRequest } from './generation.ts';
import { asString } from './json.ts';

export type ForeignPart = { protocol: string; name: string };

const nameOf = (value: Record<string, unknown>): string => asString(value.type) ?? 'unknown';

const partsOf = (block: Block): ForeignPart[] => {
  if (block.type === 'foreign') return [{ protocol: block.protocol, name: nameOf(block.value) }];
  return block.type === 'tool-result' ? block.content.flatMap(partsOf) : [];
};

/**
 * What the caller says that only one protocol can carry. Parts of the assistant's own past are left out:
 * a wire that does not know them does without them.
 */
export const foreignParts = ({ turns, tools = [] }: GenerationRequest): ForeignPart[] => [
  ...turns.flatMap(({ role, blocks }) => (role === 'assistant' ? [] : blocks.flatMap(partsOf))),
  ...tools.flatMap((tool) =>
    'foreign' in tool ? [{ protocol: tool.protocol, name: nameOf(tool.value) }] : [],
  ),
];
