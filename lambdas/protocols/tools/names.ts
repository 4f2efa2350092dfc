import { createHash } from 'node:crypto';
import type { GenerationRequest } from '../generation.ts';

/** The rule of chat; messages and namespaces allow longer names. */
const VALID_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const HEAD_LENGTH = 51;
const HASH_LENGTH = 12;

/**
 * A tool's name as every protocol accepts it: unchanged if valid, else its head and a hash of the whole, so that
 * different names stay different and every request maps alike, without state.
 */
export const fittingToolName = (name: string): string => {
  if (VALID_NAME.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  return `${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, HEAD_LENGTH)}_${hash}`;
};

const namesIn = ({ tools = [], turns }: GenerationRequest): string[] => [
  ...tools.flatMap((tool) => ('native' in tool ? [] : [tool.name])),
  // A model may call a tool that only the history names.
  ...turns.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.type === 'tool-call' ? [block.name] : [])),
  ),
];

/** The inverse of `fittingToolName` for the names of one request. */
export const callerToolNames = (request: GenerationRequest): ((wireName: string) => string) => {
  const names = new Map(namesIn(request).map((name) => [fittingToolName(name), name] as const));
  return (wireName) => names.get(wireName) ?? wireName;
};
