import { createHash } from 'node:crypto';
import type { Block, GenerationEvent, GenerationRequest, ThinkingBlock } from './generation.ts';

/**
 * Thinking comes back in the next request and is only good for the upstream that wrote it: another one
 * refuses the whole request over a signature it does not know. So every signature that leaves carries a
 * mark of its issuer, and what comes back is sent only to that issuer. No state is kept in between.
 */
const SEAL = /^mrs1\.([0-9a-f]{12})\.(.*)$/s;

/** A mark that tells issuers apart without naming them. */
export const originOf = (upstream: string, model: string): string =>
  createHash('sha256').update(`${upstream}\n${model}`).digest('hex').slice(0, 12);

/** Marks the thinking in an answer. Unsigned thinking gets a seal too, for its upstream to know it by. */
export const createOriginTagger = (mark: string): ((event: GenerationEvent) => GenerationEvent) => {
  const thinking = new Set<number>();
  return (event) => {
    if (event.type === 'block-start' && event.block.type === 'thinking') thinking.add(event.index);
    if (event.type !== 'block-end' || !thinking.has(event.index)) return event;
    return { ...event, signature: `mrs1.${mark}.${event.signature ?? ''}` };
  };
};

const unsealBlock = (block: ThinkingBlock, mark: string): Block[] => {
  // The chat family sends thinking back without a signature; chat upstreams want it, others drop it.
  if (block.signature === undefined) return [block];
  const [, issuer, signature] = SEAL.exec(block.signature) ?? [];
  if (issuer !== mark) return [];
  const { signature: _, ...bare } = block;
  return [signature ? { ...bare, signature } : bare];
};

/** The request with its thinking as `mark`'s upstream wrote it, and without anybody else's. */
export const stripForeignThinking = (
  request: GenerationRequest,
  mark: string,
): GenerationRequest => ({
  ...request,
  turns: request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.flatMap((block) =>
      block.type === 'thinking' ? unsealBlock(block, mark) : [block],
    ),
  })),
});
