import { omitUndefined } from '../../support/omit-undefined.ts';
import { extraFieldsFor, makeExtras } from '../extras.ts';
import type { Usage } from '../generation.ts';
import { asCount, asRecord, type Json } from '../json.ts';
import { NAME } from './name.ts';

/** Counts as this wire states them: `input_tokens` leaves out what a cache served or took. */
export type WireUsage = {
  input?: number;
  cacheRead?: number;
  cacheWrite?: number;
  output?: number;
  thinking?: number;
  /** What only this family counts, e.g. searches. */
  own?: Record<string, unknown>;
};

/**
 * Counts that go on to callers of this family, by the names that the vendor's types promise: SDKs add
 * them up. What else stands in an upstream's usage may tell of its account.
 */
const OWN: Record<string, string[]> = {
  cache_creation: ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'],
  server_tool_use: ['web_search_requests', 'web_fetch_requests'],
};

const ownCounts = (wire: Json | undefined): Json | undefined => {
  const known = Object.entries(OWN).flatMap(([name, counts]): [string, Json][] => {
    const value = asRecord(wire?.[name]);
    if (!value) return [];
    return [[name, Object.fromEntries(counts.map((count) => [count, asCount(value[count]) ?? 0]))]];
  });
  return known.length > 0 ? Object.fromEntries(known) : undefined;
};

/** What one event says. Counts are cumulative: a later event's word replaces an earlier one's. */
export const readUsage = (value: unknown): WireUsage => {
  const wire = asRecord(value);
  return omitUndefined({
    input: asCount(wire?.input_tokens),
    cacheRead: asCount(wire?.cache_read_input_tokens),
    cacheWrite: asCount(wire?.cache_creation_input_tokens),
    output: asCount(wire?.output_tokens),
    thinking: asCount(asRecord(wire?.output_tokens_details)?.thinking_tokens),
    own: ownCounts(wire),
  });
};

/** The canonical counts. Undefined: the upstream counted nothing. */
export const decodeUsage = (wire: WireUsage): Usage | undefined => {
  const { input, cacheRead, cacheWrite, output, thinking, own } = wire;
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    outputTokens: output ?? 0,
    ...omitUndefined({
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      reasoningTokens: thinking,
      extras: own && makeExtras(NAME, own),
    }),
  };
};

/**
 * The counts; the vendor's types want all of them, if only as null. An input of zero is an upstream that
 * did not count: agents decide by it when to compact their history, so then `estimate` stands there.
 */
export const encodeUsage = (usage: Usage, estimate: number): Record<string, unknown> => {
  const { outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, extras } = usage;
  const inputTokens = usage.inputTokens || estimate;
  const uncached = inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0);
  return {
    input_tokens: Math.max(0, uncached),
    cache_creation_input_tokens: cacheWriteTokens ?? null,
    cache_read_input_tokens: cacheReadTokens ?? null,
    output_tokens: outputTokens,
    output_tokens_details:
      reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: extraFieldsFor(NAME, extras).server_tool_use ?? null,
  };
};

/** The usage of a whole message, which also tells how it was served. */
export const encodeMessageUsage = (usage: Usage, estimate: number): Record<string, unknown> => ({
  cache_creation: extraFieldsFor(NAME, usage.extras).cache_creation ?? null,
  inference_geo: null,
  service_tier: null,
  speed: null,
  ...encodeUsage(usage, estimate),
});
