const NANOS_PER_DOLLAR = 1_000_000_000;

/** Each is known of a sum, and may be unknown of a request. */
type Used<Count> = {
  inputTokens?: Count;
  outputTokens?: Count;
  cacheReadTokens?: Count;
  cacheWriteTokens?: Count;
  reasoningTokens?: Count;
  costNanos?: Count;
};

export const nanosOf = (dollars: number): number => Math.round(dollars * NANOS_PER_DOLLAR);
export const dollarsOf = (nanos: number): number => nanos / NANOS_PER_DOLLAR;

/** Tokens and price as callers and operators read them. */
export const publicUsage = <Count extends number | undefined>(used: Used<Count>) => ({
  input_tokens: used.inputTokens as Count,
  output_tokens: used.outputTokens as Count,
  cache_read_tokens: used.cacheReadTokens as Count,
  cache_write_tokens: used.cacheWriteTokens as Count,
  reasoning_tokens: used.reasoningTokens as Count,
  cost_usd: (used.costNanos && dollarsOf(used.costNanos)) as Count,
});
