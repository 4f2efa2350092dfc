import { createHash } from 'node:crypto';
import type { GenerationRequest } from '../generation.ts';

/** This wire's rule for names; the other family's are longer. */
const FITS = /^[a-zA-Z0-9_-]{1,64}$/;
const KEPT = 51;
const HASH_LENGTH = 12;

/**
 * A tool's name as this wire allows it: itself where it fits, else its head and a hash of the whole, so
 * that different names stay different and every request maps the same way (no state in between).
 */
export const wireToolName = (name: string): string => {
  if (FITS.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  return `${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, KEPT)}_${hash}`;
};

const namesIn = ({ tools = [], turns }: GenerationRequest): string[] => [
  ...tools.flatMap((tool) => ('foreign' in tool ? [] : [tool.name])),
  // A model may repeat a name that only its history still holds.
  ...turns.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.type === 'tool-call' ? [block.name] : [])),
  ),
];

/** The way back: the request's own name behind a name that the upstream used. */
export const callerToolNames = (request: GenerationRequest): ((wireName: string) => string) => {
  const names = new Map(namesIn(request).map((name) => [wireToolName(name), name] as const));
  return (wireName) => names.get(wireName) ?? wireName;
};
