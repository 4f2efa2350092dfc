import { omitUndefined } from '../../support/omit-undefined.ts';
import { asCount, asRecord, type Json } from '../bytes/json.ts';
import type { Usage } from '../generation.ts';

/** Counts of the protocol: `input_tokens` excludes the tokens read from or written to a cache. */
export type WireUsage = {
  input?: number;
  cacheRead?: number;
  cacheWrite?: number;
  output?: number;
  thinking?: number;
};

/** The counts of one event. They are cumulative: later ones replace earlier ones. */
export const readUsage = (value: unknown): WireUsage => {
  const wire = asRecord(value);
  return omitUndefined({
    input: asCount(wire?.input_tokens),
    cacheRead: asCount(wire?.cache_read_input_tokens),
    cacheWrite: asCount(wire?.cache_creation_input_tokens),
    output: asCount(wire?.output_tokens),
    thinking: asCount(asRecord(wire?.output_tokens_details)?.thinking_tokens),
  });
};

export const mergeUsage = (earlier: WireUsage, later: WireUsage): WireUsage => ({
  ...earlier,
  ...later,
});

/** The canonical counts. Undefined: the upstream sent no counts. */
export const decodeUsage = (wire: WireUsage): Usage | undefined => {
  const { input, cacheRead, cacheWrite, output, thinking } = wire;
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    outputTokens: output ?? 0,
    ...omitUndefined({
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      reasoningTokens: thinking,
    }),
  };
};

/**
 * The counts; the vendor's types require all of them, null if absent. `estimate` replaces an input of
 * zero, which the upstream did not count: agents compact their history by it.
 */
export const encodeUsage = (usage: Usage, estimate: () => number): Json => {
  const { outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  const inputTokens = usage.inputTokens || estimate();
  const uncached = inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0);
  return {
    input_tokens: Math.max(0, uncached),
    cache_creation_input_tokens: cacheWriteTokens ?? null,
    cache_read_input_tokens: cacheReadTokens ?? null,
    output_tokens: outputTokens,
    output_tokens_details:
      reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
};

/** The usage of a whole message, with the fields about the service. */
export const encodeMessageUsage = (usage: Usage, estimate: () => number): Json => ({
  cache_creation: null,
  inference_geo: null,
  service_tier: null,
  speed: null,
  ...encodeUsage(usage, estimate),
});
