import { compact } from '../../support/compact.ts';
import type { Usage } from '../generation.ts';
import { asCount, asRecord } from '../json.ts';

/** Counts as this wire states them: `input_tokens` leaves out what a cache served or took. */
export type WireUsage = {
  input?: number;
  cacheRead?: number;
  cacheWrite?: number;
  output?: number;
  thinking?: number;
};

/** What one event says. Counts are cumulative: a later event's word replaces an earlier one's. */
export const readUsage = (value: unknown): WireUsage => {
  const wire = asRecord(value);
  return compact({
    input: asCount(wire?.input_tokens),
    cacheRead: asCount(wire?.cache_read_input_tokens),
    cacheWrite: asCount(wire?.cache_creation_input_tokens),
    output: asCount(wire?.output_tokens),
    thinking: asCount(asRecord(wire?.output_tokens_details)?.thinking_tokens),
  });
};

export const decodeUsage = (wire: WireUsage): Usage | undefined => {
  const { input, cacheRead, cacheWrite, output, thinking } = wire;
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    outputTokens: output ?? 0,
    ...compact({
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      reasoningTokens: thinking,
    }),
  };
};

export const encodeUsage = (usage: Usage): Record<string, unknown> => {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  const uncached = inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0);
  return compact({
    input_tokens: Math.max(0, uncached),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
    output_tokens_details:
      reasoningTokens === undefined ? undefined : { thinking_tokens: reasoningTokens },
  });
};
