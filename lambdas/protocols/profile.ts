/**
 * What a target's model accepts, where vendors and generations of models differ. An absent member means
 * unknown: the request is sent as the caller wrote it. Encoders choose by these members only, never by a
 * model's name.
 */
export type Profile = {
  /** On messages: the values of `thinking.type` that the model accepts; empty if it does not think. */
  thinking?: readonly ThinkingForm[] | undefined;
  /** Levels of effort, the lowest first; empty if the model rejects the field. */
  effort?: readonly string[] | undefined;
  /** Whether an effort may be sent next to function tools. */
  effortWithTools?: boolean | undefined;
  /** The sampling fields that the model accepts. */
  sampling?: readonly SamplingField[] | undefined;
  /** Whether they are accepted next to an effort other than `none`. */
  samplingWithEffort?: boolean | undefined;
  /** Whether a request may state both `temperature` and `top_p`; else the latter is left out. */
  temperatureWithTopP?: boolean | undefined;
  /** Whether the choice may force a tool. */
  forcedTool?: boolean | undefined;
  /** Whether a request may name sequences that end the response. */
  stop?: boolean | undefined;
  /** Whether a request may state if several tools are called at once. */
  parallelTools?: boolean | undefined;
  /** Whether a conversation may end with a turn of the assistant. */
  prefill?: boolean | undefined;
  /** Keywords that the model's provider rejects in the JSON Schema of a tool. */
  schemaWithout?: readonly string[] | undefined;
  maxTools?: number | undefined;
  /** Kinds of media that the model accepts. */
  media?: readonly Medium[] | undefined;
  /** On messages: the versions of the protocol that the provider knows; absent: every version. */
  versions?: readonly string[] | undefined;
  /** Versions that it turned out not to know. */
  versionsWithout?: readonly string[] | undefined;
  /** On messages: the betas of callers that are forwarded, all of them or those listed. @default all */
  betas?: 'forward' | readonly string[] | undefined;
  /** Betas that are never sent. */
  betasWithout?: readonly string[] | undefined;
  /** Field name of the token cap; newer chat upstreams reject the old one. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /**
   * On chat: whether the upstream requires or rejects the thinking of earlier responses, or reads it as `reasoning`, the name
   * by which vLLM and Ollama state it. @default ignores it
   */
  reasoningHistory?: 'required' | 'refused' | 'reasoning' | undefined;
  /** On chat, the tool-call ids that the upstream accepts: of nine letters and digits (`short`), or of at most 40 characters. */
  toolCallIds?: 'short' | 'limited' | undefined;
  /** On chat: whether the model takes tools whose input is a free text. @default as the caller of chat sends them, else not */
  customTools?: boolean | undefined;
  /** On chat, `text`: the upstream accepts the content of a message as one text only, and no list of texts. */
  content?: 'text' | undefined;
  /** On chat: whether a stream may be asked for its usage, which is estimated where it is not stated. @default true */
  streamOptions?: boolean | undefined;
  /** On chat, `stored`: the provider accepts `metadata` only of responses that it stores. */
  metadata?: 'stored' | undefined;
  /** `leading`: the upstream accepts a system prompt only before the conversation; on chat one only. `none`, on chat: it accepts none. */
  systemTurns?: 'leading' | 'none' | undefined;
  /** On chat, `alternating`: the upstream accepts no two turns of one role in a row, and the user's not right after a result. */
  turns?: 'alternating' | undefined;
  /**
   * On responses, `common`: of the input it knows messages, reasoning, calls and their outputs, in the vendor's order and with
   * every member, and of tools functions. It gets what targets of other protocols do.
   */
  items?: 'common' | undefined;
  /** On responses: whether the provider may store responses, as it does unless the request rejects it. @default false */
  store?: boolean | undefined;
  /** On messages: whether an agent's billing line is sent; all but its vendor read it as a part of the prompt, or reject it. @default true */
  billingLine?: boolean | undefined;
  /** On messages: how long the marks live that requests without any get; absent: they get none. */
  cacheMarks?: CacheLife | 'off' | undefined;
  /** Tokens of the shortest prompt that the model caches. @default 4,096, the most of any model */
  cacheMinimum?: number | undefined;
  /** On chat: the members about caches that the target is known to take, so that they stand for those of other protocols. */
  cacheFields?: readonly CacheField[] | undefined;
  /** Members about caches that it rejects, `ttl` and others of a mark among them. */
  cacheWithout?: readonly string[] | undefined;
  /** Hints that it rejects. */
  hintsWithout?: readonly string[] | undefined;
  /** On chat: the header by which the provider keeps a session on the server that has its prompts. */
  cacheKeyHeader?: string | undefined;
};

/** The forms that several generations of models have. */
export const COMMON_FORMS = ['adaptive', 'enabled', 'disabled'] as const;
/** `between_tools`: the least that some models think. */
export const THINKING_FORMS = [...COMMON_FORMS, 'between_tools'] as const;
export type ThinkingForm = (typeof THINKING_FORMS)[number];

export const SAMPLING_FIELDS = [
  'temperature',
  'top_p',
  'top_k',
  'penalties',
  'logit_bias',
  'logprobs',
] as const;
export type SamplingField = (typeof SAMPLING_FIELDS)[number];

export const CACHE_LIVES = ['5m', '1h'] as const;
export type CacheLife = (typeof CACHE_LIVES)[number];

export const CACHE_FIELDS = [
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'prompt_cache_breakpoint',
  'cache_control',
] as const;
export type CacheField = (typeof CACHE_FIELDS)[number];

/** Members that a model answers without, too: those of a tool, and of a request. */
export const TOOL_HINTS = [
  'eager_input_streaming',
  'input_examples',
  'defer_loading',
  'strict',
] as const;
export const REQUEST_HINTS = [
  ...['user', 'safety_identifier', 'seed', 'service_tier', 'store', 'verbosity'],
  /** Of reasoning on responses. */
  'summary',
  /** Only where it is 1. */
  'n',
  /** On messages, and of a call in the history. */
  ...['context_management', 'diagnostics', 'speed', 'caller'],
] as const;
/** Replaced by words: the schema of a response, and the names of tools that are loaded. */
const SPOKEN_HINTS = ['output_format', 'tool_reference'] as const;
export const HINTS = [...TOOL_HINTS, ...REQUEST_HINTS, ...SPOKEN_HINTS, 'metadata' as const];

/** How servers of chat name the thinking of an earlier response. */
export const EARLIER_THINKING = ['reasoning_content', 'reasoning', 'reasoning_details'];

export const MEDIA = ['image', 'pdf', 'audio', 'video'] as const;
export type Medium = (typeof MEDIA)[number];

// --- effort ---

/** Every level that a vendor has, the lowest first. */
export const LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** Those of every model that thinks adaptively; some have fewer. */
export const ADAPTIVE_EFFORTS = LEVELS.slice(2);

/** Those of the names that are levels, the lowest first. */
export const levelsAmong = (names: readonly string[]): string[] =>
  LEVELS.filter((level) => names.includes(level));

/**
 * The level itself if the model has it, else the nearest lower one, else its lowest. Undefined if the
 * model has no levels. `none` is not a level to fall back to: it turns thinking off. A word that no vendor
 * has as a level is the caller's mistake, which the provider names.
 */
export const fitEffort = (wanted: string, levels: readonly string[] | undefined) => {
  if (levels === undefined || levels.includes(wanted)) return wanted;
  const rank = LEVELS.indexOf(wanted);
  if (rank === -1 && levels.length > 0) return wanted;
  const thinking = levels.filter((level) => level !== 'none');
  return thinking.findLast((level) => LEVELS.indexOf(level) < rank) ?? thinking[0];
};

/** The thinking budget of each effort, in tokens, in ascending order. */
const BUDGETS: [effort: string, budget: number][] = [
  ['low', 2_048],
  ['medium', 8_192],
  ['high', 24_576],
  ['xhigh', 32_000],
];

/** `low` for up to 2,048 tokens, and so on. */
export const effortOfBudget = (tokens: number): string =>
  BUDGETS.slice(0, -1).find(([, budget]) => tokens <= budget)?.[0] ?? 'xhigh';

/** The inverse; levels without a budget have the nearest one. */
export const budgetOfEffort = (effort: string): number => {
  const level = fitEffort(
    effort,
    BUDGETS.map(([name]) => name),
  );
  return BUDGETS.find(([name]) => name === level)?.[1] ?? 8_192;
};
