import { createHash } from 'node:crypto';
import type { Block, GenerationEvent, GenerationRequest, ThinkingBlock } from './generation.ts';

/**
 * Thinking is sent back in the next request and is valid only at the upstream that wrote it: another
 * one rejects the whole request over an unknown signature. So every signature in a response is tagged
 * with its origin, and thinking is sent back only to that origin. No state is stored.
 */
const TAG = /^mrs1\.([0-9a-f]{12})\.(.*)$/s;

/** Identifies an upstream and model without naming them. */
export const originOf = (upstream: string, model: string): string =>
  createHash('sha256').update(`${upstream}\n${model}`).digest('hex').slice(0, 12);

/** Tags the thinking of a response. Unsigned thinking is tagged too, so its upstream gets it back. */
export const createOriginTagger = (
  origin: string,
): ((event: GenerationEvent) => GenerationEvent) => {
  const thinking = new Set<number>();
  return (event) => {
    if (event.type === 'block-start' && event.block.type === 'thinking') thinking.add(event.index);
    if (event.type !== 'block-end' || !thinking.has(event.index)) return event;
    return { ...event, signature: `mrs1.${origin}.${event.signature ?? ''}` };
  };
};

const stripBlock = (block: ThinkingBlock, origin: string): Block[] => {
  // Chat callers send thinking without a signature; chat upstreams accept it, others omit it.
  if (block.signature === undefined) return [block];
  const [, issuer, signature] = TAG.exec(block.signature) ?? [];
  if (issuer !== origin) return [];
  const { signature: _, ...bare } = block;
  return [signature ? { ...bare, signature } : bare];
};

/** Keeps the thinking of `origin`, with its original signature; removes that of other origins. */
export const stripForeignThinking = (
  request: GenerationRequest,
  origin: string,
): GenerationRequest => ({
  ...request,
  turns: request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.flatMap((block) =>
      block.type === 'thinking' ? stripBlock(block, origin) : [block],
    ),
  })),
});
