import { omitUndefined } from './omit-undefined.ts';

const NANOS_PER_DOLLAR = 1_000_000_000;

type Used = {
  [Name in
    | 'inputTokens'
    | 'outputTokens'
    | 'cacheReadTokens'
    | 'cacheWriteTokens'
    | 'reasoningTokens'
    | 'costNanos']?: number | undefined;
};

/** Tokens and price as callers and operators read them; without what is not known. */
export const publicUsage = (used: Used) =>
  omitUndefined({
    input_tokens: used.inputTokens,
    output_tokens: used.outputTokens,
    cache_read_tokens: used.cacheReadTokens,
    cache_write_tokens: used.cacheWriteTokens,
    reasoning_tokens: used.reasoningTokens,
    cost_usd: used.costNanos === undefined ? undefined : used.costNanos / NANOS_PER_DOLLAR,
  });
