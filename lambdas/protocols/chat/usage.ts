import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Billing, Usage } from '../generation.ts';
import { statedNanosIn } from '../stated-cost.ts';

/** Some upstreams do not count reasoning in the completion, as xAI and Google, who may not state it: their total shows it. */
const outputOf = ({ total_tokens: total }: Json, input: number, output: number): number =>
  Math.max(output, (asCount(total) ?? 0) - input);

/** Searches of a model that searches, in the words of Perplexity, OpenRouter and LiteLLM. */
const usesIn = (wire: Json, prompt: Json | undefined): Billing['uses'] => {
  const ran = asRecord(wire.server_tool_use_details ?? wire.server_tool_use) ?? prompt;
  const searches = asCount(wire.num_search_queries) || asCount(ran?.web_search_requests);
  return searches ? { web_search: searches } : undefined;
};

const billingIn = (wire: Json, prompt: Json | undefined, completion: Json | undefined): Billing =>
  omitUndefined({
    inputAudioTokens: asCount(prompt?.audio_tokens) || undefined,
    inputImageTokens: asCount(prompt?.image_tokens) || undefined,
    outputAudioTokens: asCount(completion?.audio_tokens) || undefined,
    uses: usesIn(wire, prompt),
    statedNanos: statedNanosIn(wire),
  });

/** Gateways before Claude leave what is cached out of the prompt, which shows where it is clearly more than that. */
const inputOf = (prompt: number, { cacheReadTokens = 0, cacheWriteTokens = 0 }: Partial<Usage>) => {
  const cached = cacheReadTokens + cacheWriteTokens;
  return prompt < cached * 0.9 ? prompt + cached : prompt;
};

/** The counts of a cache, whose names differ between upstreams. */
const cacheIn = (wire: Json, prompt: Json | undefined): Partial<Usage> =>
  omitUndefined({
    cacheReadTokens:
      asCount(prompt?.cached_tokens) ??
      asCount(wire.prompt_cache_hit_tokens) ??
      asCount(wire.cached_tokens),
    // OpenRouter's and OpenAI's name, Qwen's, and that of a gateway before Anthropic.
    cacheWriteTokens:
      asCount(prompt?.cache_write_tokens) ??
      asCount(prompt?.cache_creation_input_tokens) ??
      asCount(wire.cache_creation_input_tokens),
    // OpenAI's, and LiteLLM's before Anthropic.
    cacheWriteLongTokens:
      asCount(asRecord(prompt?.cache_write_tokens_details)?.ttl_12h_tokens) ??
      asCount(asRecord(prompt?.cache_creation_token_details)?.ephemeral_1h_input_tokens),
  });

/** `prompt_tokens` includes cached tokens, as in the canonical form. Undefined: the upstream sent no counts. */
const decodeUsage = (value: unknown): Usage | undefined => {
  const wire = asRecord(value);
  const inputTokens = asCount(wire?.prompt_tokens);
  const outputTokens = asCount(wire?.completion_tokens);
  if (!wire || (inputTokens === undefined && outputTokens === undefined)) return undefined;
  const prompt = asRecord(wire.prompt_tokens_details);
  const completion = asRecord(wire.completion_tokens_details);
  const reasoning = asCount(completion?.reasoning_tokens);
  const billing = billingIn(wire, prompt, completion);
  const cache = cacheIn(wire, prompt);
  const input = inputOf(inputTokens ?? 0, cache);
  return {
    ...cache,
    inputTokens: input,
    outputTokens: outputOf(wire, input, outputTokens ?? 0),
    ...omitUndefined({
      reasoningTokens: reasoning,
      billing: isEmpty(billing) ? undefined : billing,
    }),
  };
};

export const firstChoice = (wire: Json): Json | undefined => asRecord(asArray(wire.choices)[0]);

/**
 * The counts of a chunk or response: in `usage`, in the choice, or in a provider's field.
 * Undefined: the upstream sent no counts.
 */
export const readUsage = (chunk: Json): Usage | undefined =>
  decodeUsage(chunk.usage) ??
  decodeUsage(firstChoice(chunk)?.usage) ??
  decodeUsage(asRecord(chunk.x_groq)?.usage);

/** The name of thinking in a chunk or response, as vLLM and Ollama name it; undefined if it is that of the others. */
export const thinkingNameIn = (wire: Json): Pick<Usage, 'thinkingName'> | undefined => {
  const choice = firstChoice(wire);
  const { reasoning, reasoning_content: text } = asRecord(choice?.delta ?? choice?.message) ?? {};
  return asString(reasoning) && !asString(text) ? { thinkingName: 'reasoning' } : undefined;
};

/** The counts with the tier that a response, or any of its chunks, states. */
export const withTier = (usage: Usage | undefined, tier: unknown): Usage | undefined =>
  usage && typeof tier === 'string' ? { ...usage, serviceTier: tier } : usage;

/** Base64 of raw audio, 48,000 bytes a second, of which vendors bill a token for every 50 ms. */
const AUDIO_CHARACTERS_PER_TOKEN = 3_200;
const CHARACTERS_PER_TOKEN = 4;

/** Counts the audio of a chunk in `known`: the usage of a spoken response is stated at its end only. */
export const createAudioCounter = (known: Partial<Usage>) => {
  let [data, transcript] = [0, 0];
  return (chunk: Json): void => {
    for (const choice of asArray(chunk.choices)) {
      const audio = asRecord(asRecord(asRecord(choice)?.delta)?.audio);
      if (!audio) continue;
      data += asString(audio.data)?.length ?? 0;
      transcript += asString(audio.transcript)?.length ?? 0;
      const outputAudioTokens = Math.ceil(data / AUDIO_CHARACTERS_PER_TOKEN);
      known.outputTokens = outputAudioTokens + Math.ceil(transcript / CHARACTERS_PER_TOKEN);
      known.billing = { outputAudioTokens };
    }
  };
};

/** The counts of a whole response. */
export const usageIn = (response: Json): Usage | undefined => {
  const usage = withTier(readUsage(response), response.service_tier);
  return usage && { ...usage, ...thinkingNameIn(response) };
};

const detailsOf = (details: Json): Json | undefined => {
  const present = omitUndefined(details);
  return isEmpty(present) ? undefined : present;
};

/** The counts; `estimate` replaces an input count that the upstream did not send. */
export const encodeUsage = (usage: Usage | undefined, estimate: () => number): Json => {
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, outputTokens = 0 } = usage ?? {};
  const inputTokens = usage?.inputTokens || estimate();
  const hasCache = cacheReadTokens !== undefined || cacheWriteTokens !== undefined;
  return omitUndefined({
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: detailsOf({
      cached_tokens: hasCache ? (cacheReadTokens ?? 0) : undefined,
      cache_write_tokens: cacheWriteTokens,
    }),
    completion_tokens_details: detailsOf({ reasoning_tokens: reasoningTokens }),
  });
};
