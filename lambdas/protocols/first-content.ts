import type { GenerationEvent } from './generation.ts';

const opensWithContent = (event: GenerationEvent): boolean =>
  event.type === 'block-start' && event.block.type !== 'text' && event.block.type !== 'thinking';

/**
 * Whether an event shows the caller a part of the response. The one definition of first content: the
 * timer of an upstream and the failover between upstreams both end at it. The start of a text or thinking
 * block is not content, because providers send it at once and may be silent, or send pings, after it.
 */
export const isContent = (event: GenerationEvent): boolean =>
  event.type === 'block-delta' || event.type === 'finish' || opensWithContent(event);
