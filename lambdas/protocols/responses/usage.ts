import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Billing, FinishReason, Usage } from '../generation.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { statedNanosIn } from '../stated-cost.ts';

/** Searches that the vendor ran, which it bills each; looking at what they found is free. */
const searchesIn = (output: unknown): number =>
  asArray(output).filter((item) => {
    const { type, action } = asRecord(item) ?? {};
    return type === 'web_search_call' && (asRecord(action)?.type ?? 'search') === 'search';
  }).length;

/** The counts of a response that has ended; undefined if it has none. */
export const decodeUsage = ({ usage: value, output, service_tier }: Json): Usage | undefined => {
  const wire = asRecord(value);
  const inputTokens = asCount(wire?.input_tokens);
  const outputTokens = asCount(wire?.output_tokens);
  if (!wire || (inputTokens === undefined && outputTokens === undefined)) return undefined;
  const input = asRecord(wire.input_tokens_details);
  const searches = searchesIn(output);
  const billing: Billing = omitUndefined({
    uses: searches > 0 ? { web_search: searches } : undefined,
    statedNanos: statedNanosIn(wire),
  });
  return omitUndefined({
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cacheReadTokens: asCount(input?.cached_tokens),
    cacheWriteTokens: asCount(input?.cache_write_tokens),
    cacheWriteLongTokens: asCount(asRecord(input?.cache_write_tokens_details)?.ttl_12h_tokens),
    reasoningTokens: asCount(asRecord(wire.output_tokens_details)?.reasoning_tokens),
    serviceTier: asString(service_tier),
    billing: isEmpty(billing) ? undefined : billing,
  });
};

const INCOMPLETE: Record<string, FinishReason['unified']> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
};

/** Why a response ended. @throws UpstreamError if it failed, or has not ended */
export const decodeFinishReason = ({ status, error, incomplete_details }: Json): FinishReason => {
  if (status === 'completed') return { unified: 'stop' };
  const reason = asString(asRecord(incomplete_details)?.reason) ?? '';
  if (status === 'incomplete') return { unified: INCOMPLETE[reason] ?? 'length' };
  if (status === 'failed' || asRecord(error)) {
    throw new UpstreamError('error-event', 'the response failed', { sent: { error } });
  }
  throw new UpstreamError('truncated', 'the response has not ended');
};
