import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { asCount, asRecord, type Json } from '../bytes/json.ts';
import type { Usage } from '../generation.ts';
import { extraFieldsFor, membersBeyond } from '../ledger/extras.ts';
import { NAME } from './name.ts';

/** Some upstreams count reasoning separately from the completion; their total shows it. */
const outputOf = (wire: Json, input: number, output: number, reasoning: number): number =>
  reasoning > 0 && asCount(wire.total_tokens) === input + output + reasoning
    ? output + reasoning
    : output;

/** Counts that have a canonical form. */
const CANONICAL = ['prompt_tokens', 'completion_tokens', 'total_tokens'];
const DETAILS = ['prompt_tokens_details', 'completion_tokens_details'];
const CANONICAL_DETAILS = ['cached_tokens', 'cache_write_tokens', 'reasoning_tokens'];

/** The members that only this protocol has. */
const nativeUsage = (wire: Json): Json => {
  const native = membersBeyond(wire, CANONICAL);
  for (const name of DETAILS) {
    const details = asRecord(native[name]);
    if (details) native[name] = membersBeyond(details, CANONICAL_DETAILS);
  }
  return native;
};

/**
 * `prompt_tokens` includes cached tokens, as in the canonical form; their field differs between
 * upstreams. Undefined: the upstream sent no counts.
 */
const decodeUsage = (value: unknown): Usage | undefined => {
  const wire = asRecord(value);
  const inputTokens = asCount(wire?.prompt_tokens);
  const outputTokens = asCount(wire?.completion_tokens);
  if (!wire || (inputTokens === undefined && outputTokens === undefined)) return undefined;
  const prompt = asRecord(wire.prompt_tokens_details);
  const reasoning = asCount(asRecord(wire.completion_tokens_details)?.reasoning_tokens);
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputOf(wire, inputTokens ?? 0, outputTokens ?? 0, reasoning ?? 0),
    ...omitUndefined({
      cacheReadTokens:
        asCount(prompt?.cached_tokens) ??
        asCount(wire.prompt_cache_hit_tokens) ??
        asCount(wire.cached_tokens),
      cacheWriteTokens: asCount(prompt?.cache_write_tokens),
      reasoningTokens: reasoning,
    }),
    extras: { protocol: NAME, fields: nativeUsage(wire) },
  };
};

/**
 * The counts of a chunk or response: in `usage`, in the choice, or in a provider's field.
 * Undefined: the upstream sent no counts.
 */
export const readUsage = (chunk: Json, choice: Json | undefined): Usage | undefined =>
  decodeUsage(chunk.usage) ??
  decodeUsage(choice?.usage) ??
  decodeUsage(asRecord(chunk.x_groq)?.usage);

/** Canonical counts with native ones; without counts what the upstream sent in their place. */
const detailsOf = (native: unknown, canonical: Json): unknown => {
  const details = omitUndefined({ ...asRecord(native), ...canonical });
  return isEmpty(details) ? native : details;
};

/** The counts; `estimate` replaces an input count that the upstream did not send. */
export const encodeUsage = (
  usage: Usage | undefined,
  estimate: () => number,
): Record<string, unknown> => {
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, outputTokens = 0 } = usage ?? {};
  const inputTokens = usage?.inputTokens || estimate();
  const {
    prompt_tokens_details: prompt,
    completion_tokens_details: completion,
    ...native
  } = extraFieldsFor(NAME, usage?.extras);
  const hasCache = cacheReadTokens !== undefined || cacheWriteTokens !== undefined;
  return omitUndefined({
    ...native,
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: detailsOf(prompt, {
      cached_tokens: hasCache ? (cacheReadTokens ?? 0) : undefined,
      cache_write_tokens: cacheWriteTokens,
    }),
    completion_tokens_details: detailsOf(completion, { reasoning_tokens: reasoningTokens }),
  });
};
