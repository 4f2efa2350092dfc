import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asRecord, asString, type Json, listOf } from '../bytes/json.ts';
import type { Billing, Usage } from '../generation.ts';
import { statedNanosIn } from '../stated-cost.ts';

/** Counts as the protocol has them: `inputTokens` excludes the tokens read from or written to a cache. */
export type WireUsage = Partial<Usage>;

const countsIn = (wire: Json | undefined): WireUsage =>
  omitUndefined({
    inputTokens: asCount(wire?.input_tokens),
    cacheReadTokens: asCount(wire?.cache_read_input_tokens),
    cacheWriteTokens: asCount(wire?.cache_creation_input_tokens),
    cacheWriteLongTokens: asCount(asRecord(wire?.cache_creation)?.ephemeral_1h_input_tokens),
    outputTokens: asCount(wire?.output_tokens),
    reasoningTokens: asCount(asRecord(wire?.output_tokens_details)?.thinking_tokens),
  });

/** What the vendor adds to no count: the summaries of a conversation that it shortens, and the calls of another model. */
const iterationsIn = (wire: Json | undefined, kind: string): Usage[] =>
  asArray(wire?.iterations).flatMap((value) => {
    const iteration = asRecord(value);
    return iteration?.type === kind ? (decodeUsage(countsIn(iteration)) ?? []) : [];
  });

/** Searches cost money of their own, fetches do not; running code is free next to either, and billed by the hour alone. */
const usesIn = (wire: Json | undefined): Record<string, number> => {
  const { web_search_requests: searches, code_execution_requests: runs } =
    asRecord(wire?.server_tool_use) ?? {};
  return omitUndefined({
    web_search: asCount(searches) || undefined,
    code_execution: asCount(searches) ? undefined : asCount(runs) || undefined,
    // Other models, whose prices are not those of the target.
    advisor: iterationsIn(wire, 'advisor_message').length || undefined,
    fallback: iterationsIn(wire, 'fallback_message').length || undefined,
  });
};

const billingIn = (wire: Json | undefined): Billing => {
  const uses = usesIn(wire);
  return omitUndefined({
    serviceTier: asString(wire?.service_tier),
    speed: asString(wire?.speed),
    geo: asString(wire?.inference_geo),
    uses: isEmpty(uses) ? undefined : uses,
    compactions: listOf(iterationsIn(wire, 'compaction')),
    statedNanos: wire && statedNanosIn(wire),
  });
};

/** Adds the use of a tool to the counts of a response that has not ended, by its result: a search that fails is free. */
export const addUse = (known: Partial<Usage>, { type, content }: Json): void => {
  if (type !== 'web_search_tool_result' || !Array.isArray(content)) return;
  const { billing, billing: { uses } = {} } = known;
  known.billing = { ...billing, uses: { ...uses, web_search: (uses?.web_search ?? 0) + 1 } };
};

/** The counts of one event. They are cumulative: later ones replace earlier ones. */
export const readUsage = (value: unknown): WireUsage => {
  const wire = asRecord(value);
  return { ...countsIn(wire), billing: billingIn(wire) };
};

/** A kind of the vendor's, and no text. */
const KIND = /^\w{1,40}$/;

/** The same with why the cache was not read, which a message states next to its counts. */
export const readMessageUsage = (message: Json | undefined): WireUsage => {
  const reason = asRecord(asRecord(message?.diagnostics)?.cache_miss_reason)?.type;
  return {
    ...readUsage(message?.usage),
    ...(typeof reason === 'string' && KIND.test(reason) && { cacheMissReason: reason }),
  };
};

const cachedIn = ({ cacheReadTokens = 0, cacheWriteTokens = 0 }: WireUsage): number =>
  cacheReadTokens + cacheWriteTokens;

/** Whether an event counts no prompt. Where the vendor only summed up a conversation, that is its count. */
const lacksPrompt = (usage: WireUsage): boolean => {
  const { inputTokens = 0, billing } = usage;
  return inputTokens + cachedIn(usage) === 0 && !billing?.compactions;
};

/** What the start counts in all, and the end in part: the start's count is about that of the cache or above. */
const MIN_WHOLE = 0.9;

/** Qwen counts the whole prompt at the start, and of it only what was cached at the end. */
const splitPrompt = (earlier: WireUsage, later: WireUsage): WireUsage => {
  const { inputTokens: whole = 0 } = earlier;
  const cached = cachedIn(later);
  const isWhole = later.inputTokens === undefined && cachedIn(earlier) === 0;
  return isWhole && cached > 0 && whole > cached * MIN_WHOLE
    ? { inputTokens: Math.max(0, whole - cached) }
    : {};
};

const promptOf = ({ outputTokens: _, reasoningTokens: __, ...prompt }: WireUsage): WireUsage =>
  prompt;

/** Some gateways end with zeros for the prompt that they counted at the start. */
export const mergeUsage = (earlier: WireUsage, later: WireUsage): WireUsage => ({
  ...earlier,
  ...later,
  ...splitPrompt(earlier, later),
  ...(lacksPrompt(later) && promptOf(earlier)),
  billing: { ...earlier.billing, ...later.billing },
});

/** The canonical counts. Undefined: the upstream sent no counts. */
export const decodeUsage = (wire: WireUsage): Usage | undefined => {
  const { inputTokens, outputTokens, billing = {}, ...rest } = wire;
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = rest;
  return {
    ...rest,
    inputTokens: (inputTokens ?? 0) + cacheReadTokens + cacheWriteTokens,
    outputTokens: outputTokens ?? 0,
    ...(!isEmpty(billing) && { billing }),
  };
};

/** The counts of a whole message. */
export const usageIn = (message: Json): Usage | undefined => decodeUsage(readMessageUsage(message));

/**
 * The counts; the vendor's types require all of them, null if absent. `estimate` replaces an input of
 * zero, which the upstream did not count: agents compact their history by it.
 */
export const encodeUsage = (usage: Usage, estimate: () => number): Json => {
  const { outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  const inputTokens = usage.inputTokens || (usage.billing?.compactions ? 0 : estimate());
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

const byLifetime = ({ cacheWriteTokens = 0, cacheWriteLongTokens: long }: Usage) =>
  long === undefined
    ? null
    : {
        ephemeral_5m_input_tokens: Math.max(0, cacheWriteTokens - long),
        ephemeral_1h_input_tokens: long,
      };

/** The usage of a whole message, with the fields about the service. */
export const encodeMessageUsage = (usage: Usage, estimate: () => number): Json => ({
  cache_creation: byLifetime(usage),
  inference_geo: null,
  service_tier: null,
  speed: null,
  ...encodeUsage(usage, estimate),
});
