import type { GenerationEvent } from '../protocols/generation.ts';
import type { EventBatches } from '../upstreams/upstream.ts';

/** An event after which there is no way back: the caller is about to see a part of this answer. */
const isContent = (event: GenerationEvent): boolean =>
  event.type === 'block-delta' || event.type === 'finish' || startsWithContent(event);

const startsWithContent = (event: GenerationEvent): boolean =>
  event.type === 'block-start' && event.block.type !== 'text' && event.block.type !== 'thinking';

async function* resume(held: GenerationEvent[], rest: EventBatches): EventBatches {
  try {
    yield held;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/**
 * Waits for an answer's first content, then gives the whole of it, what was held back first.
 * @throws UpstreamError, as the batches do: until here, another target may still answer.
 */
export const awaitContent = async (batches: EventBatches): Promise<EventBatches> => {
  const held: GenerationEvent[] = [];
  try {
    for (;;) {
      const { value, done } = await batches.next();
      if (done) return resume(held, batches);
      held.push(...value);
      if (value.some(isContent)) return resume(held, batches);
    }
  } catch (error) {
    await batches.return();
    throw error;
  }
};
