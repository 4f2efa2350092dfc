import type { GenerationEvent, Usage } from '../protocols/generation.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { Call } from './endpoint.ts';

/** Rough size of a token in answers, for upstreams that do not say how many there were. */
const CHARACTERS_PER_TOKEN = 4;

/** Fills in usage where the upstream gave none, so that no wire has to leave it out. */
const completeUsage = (
  usage: Usage | undefined,
  estimatedInputTokens: number,
  characters: number,
): Usage => ({
  ...usage,
  inputTokens: usage?.inputTokens || estimatedInputTokens,
  outputTokens: usage?.outputTokens || Math.ceil(characters / CHARACTERS_PER_TOKEN),
});

/** Passes an answer on and notes its size and its end for the log line. */
export async function* observe(
  batches: EventBatches,
  estimatedInputTokens: number,
  note: Call['note'],
): EventBatches {
  let characters = 0;
  const see = (event: GenerationEvent): GenerationEvent => {
    if (event.type === 'block-delta') characters += event.delta.length;
    if (event.type !== 'finish') return event;
    const usage = completeUsage(event.usage, estimatedInputTokens, characters);
    note({
      finish: event.reason.unified,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
    });
    return { ...event, usage };
  };
  for await (const batch of batches) yield batch.map(see);
}
