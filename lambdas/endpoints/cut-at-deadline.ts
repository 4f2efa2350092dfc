import type { FinishReason, GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import type { EventBatches } from '../upstreams/upstream.ts';

const CUT: FinishReason = { unified: 'length' };

const track = (open: Set<number>, event: GenerationEvent) => {
  if (event.type === 'block-start') open.add(event.index);
  if (event.type === 'block-end') open.delete(event.index);
};

const isDeadline = (error: unknown): boolean =>
  error instanceof UpstreamError && error.kind === 'deadline';

/**
 * Ends an answer that ran out of time as one that ran out of tokens. What is there is usable and paid
 * for; an error would make agents run the same quarter of an hour again.
 */
export async function* cutAtDeadline(batches: EventBatches, onCut: () => void): EventBatches {
  const open = new Set<number>();
  try {
    for await (const batch of batches) {
      for (const event of batch) track(open, event);
      yield batch;
    }
  } catch (error) {
    if (!isDeadline(error)) throw error;
    onCut();
    const ends = [...open].map((index) => ({ type: 'block-end' as const, index }));
    yield [...ends, { type: 'finish', reason: CUT, usage: undefined }];
  }
}
