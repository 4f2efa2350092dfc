import * as z from 'zod/mini';
import {
  CACHE_FIELDS,
  CACHE_LIVES,
  HINTS,
  MEDIA,
  type Profile,
  SAMPLING_FIELDS,
  THINKING_FORMS,
} from '../protocols/profile.ts';

/**
 * What the models of known vendors accept, by their documentation and their published refusals
 * (docs/providers.md#profiles). The name is that of the first model of a generation.
 */
const MARKED = { cacheMarks: '5m' } as const;
/**
 * Their templates put later system turns before the conversation, which changes the prefix in the provider's cache (DeepSeek),
 * or leave them out (gpt-oss, MiniMax).
 */
const LEADING = { systemTurns: 'leading' } as const;
/** Also served on messages, by others than the vendor of the line. */
const UNBILLED = { billingLine: false };
const EARLY_CLAUDE: Profile = {
  ...MARKED,
  thinking: ['enabled', 'disabled'],
  effort: [],
  temperatureWithTopP: false,
};
const CLAUDE_5: Profile = {
  ...MARKED,
  thinking: ['adaptive', 'disabled'],
  effort: ['low', 'medium', 'high', 'xhigh', 'max'],
  sampling: [],
  prefill: false,
};
const OPENAI = {
  toolCallIds: 'limited',
  maxTokensField: 'max_completion_tokens',
  metadata: 'stored',
  cacheFields: ['prompt_cache_key', 'prompt_cache_retention'],
} as const;
const GPT_5: Profile = { ...OPENAI, customTools: true, sampling: [], stop: false };
const GPT_5_2: Profile = {
  ...OPENAI,
  customTools: true,
  effort: ['none', 'low', 'medium', 'high', 'xhigh'],
  samplingWithEffort: false,
};

const GROQ: Profile = {
  maxTokensField: 'max_completion_tokens',
  reasoningHistory: 'refused',
  sampling: ['temperature', 'top_p', 'penalties'],
};
const KIMI: Profile = {
  ...UNBILLED,
  reasoningHistory: 'required',
  sampling: [],
  forcedTool: false,
};
const GROK: Profile = {
  sampling: ['temperature', 'top_p', 'logit_bias', 'logprobs'],
  stop: false,
  cacheKeyHeader: 'x-grok-conv-id',
};
/** What its documentation does not list of JSON Schema. */
const GEMINI: Profile = {
  schemaWithout: [
    ...['$schema', '$comment', 'const', 'default', 'examples', 'pattern', 'minLength', 'maxLength'],
    ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'uniqueItems', 'contains', 'not'],
    ...['allOf', 'if', 'then', 'else', 'patternProperties', 'propertyNames', 'dependentSchemas'],
    ...['minProperties', 'maxProperties', 'dependentRequired', 'unevaluatedProperties'],
  ],
};
const MISTRAL: Profile = {
  toolCallIds: 'short',
  turns: 'alternating',
  cacheFields: ['prompt_cache_key'],
};

export const PRESETS = {
  'claude-4.5': EARLY_CLAUDE,
  'claude-opus-4.5': { ...EARLY_CLAUDE, effort: ['low', 'medium', 'high'] },
  'claude-4.6': {
    ...MARKED,
    thinking: ['adaptive', 'enabled', 'disabled'],
    temperatureWithTopP: false,
    effort: ['low', 'medium', 'high', 'max'],
    prefill: false,
  },
  'claude-4.7': { ...CLAUDE_5, cacheMinimum: 2_048 },
  'claude-5': { ...CLAUDE_5, cacheMinimum: 1_024 },
  'claude-fable-5': { ...CLAUDE_5, cacheMinimum: 512, thinking: ['adaptive'] },
  'claude-haiku-5.5': CLAUDE_5,
  'claude-sonnet-5.5': { ...CLAUDE_5, thinking: ['adaptive', 'between_tools'], forcedTool: false },
  'claude-5.5': { ...CLAUDE_5, cacheMinimum: 512, thinking: ['adaptive'], forcedTool: false },
  'gpt-4': {
    toolCallIds: 'limited',
    metadata: 'stored',
    effort: [],
    cacheFields: ['prompt_cache_key'],
  },
  'o-series': {
    ...OPENAI,
    sampling: [],
    effort: ['low', 'medium', 'high'],
    stop: false,
    parallelTools: false,
  },
  'gpt-5': { ...GPT_5, effort: ['minimal', 'low', 'medium', 'high'] },
  'gpt-5.1': { ...GPT_5_2, effort: ['none', 'low', 'medium', 'high'] },
  'gpt-5.2': GPT_5_2,
  'gpt-5.4': { ...GPT_5_2, effortWithTools: false },
  // Thinks unless the effort is `none`, and accepts no sampling field while it does.
  'gpt-5.6': {
    ...GPT_5,
    effort: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    effortWithTools: false,
    cacheFields: [...OPENAI.cacheFields, 'prompt_cache_options', 'prompt_cache_breakpoint'],
  },
  'gpt-oss': { ...LEADING, effort: ['low', 'medium', 'high'] },
  deepseek: { ...UNBILLED, ...LEADING, reasoningHistory: 'required' },
  'glm-5.3': {
    ...UNBILLED,
    ...LEADING,
    effort: ['low', 'high', 'max'],
    forcedTool: false,
    sampling: ['temperature', 'top_p'],
  },
  groq: { ...GROQ, ...LEADING, effort: ['low', 'medium', 'high'] },
  'groq-qwen': { ...GROQ, effort: ['none', 'default'] },
  'kimi-k2.5': KIMI,
  'kimi-k3': { ...KIMI, effort: ['low', 'high', 'max'] },
  'grok-4': { ...GROK, effort: [] },
  'grok-4.3': { ...GROK, effort: ['none', 'low', 'medium', 'high'] },
  'grok-4.5': { ...GROK, effort: ['low', 'medium', 'high'] },
  'grok-4.6': { ...GROK, effort: ['low', 'medium', 'high', 'xhigh'] },
  'gemini-2.5': { ...GEMINI, thinking: ['enabled', 'disabled'] },
  'gemini-3': GEMINI,
  'minimax-m3': { ...UNBILLED, ...LEADING, thinking: ['adaptive', 'disabled'] },
  mistral: MISTRAL,
  'mistral-medium-3.5': { ...MISTRAL, effort: ['none', 'high'] },
} satisfies Record<string, Profile>;

export type PresetName = keyof typeof PRESETS;

const Preset = z.enum(Object.keys(PRESETS) as PresetName[]);
const Word = z.string().check(z.regex(/^[\w.$-]{1,80}$/, 'must be a name of 1 to 80 characters'));

/** Members that a target has itself, or by its profile. */
export const DIALECT = {
  maxTokensField: z.optional(z.enum(['max_tokens', 'max_completion_tokens'])),
  /** On responses, `common`: it knows messages, reasoning, calls and their outputs only. */
  items: z.optional(z.enum(['common'])),
  /** On chat: the upstream rejects (`refused`) or requires `reasoning_content` in earlier responses, or reads it as `reasoning`. */
  reasoningHistory: z.optional(z.enum(['required', 'refused', 'reasoning'])),
  /** On chat: the upstream accepts only tool-call ids of nine letters and digits, as Mistral, or of 40 characters, as OpenAI. */
  toolCallIds: z.optional(z.enum(['short', 'limited'])),
  /** On messages: the upstream rejects role `system` in `messages`; on chat, `none`: it rejects every system turn. */
  systemTurns: z.optional(z.enum(['leading', 'none'])),
};

const Members = z.strictObject({
  preset: z.optional(Preset),
  thinking: z.optional(z.array(z.enum(THINKING_FORMS))),
  effort: z.optional(z.array(Word)),
  effortWithTools: z.optional(z.boolean()),
  sampling: z.optional(z.array(z.enum(SAMPLING_FIELDS))),
  samplingWithEffort: z.optional(z.boolean()),
  temperatureWithTopP: z.optional(z.boolean()),
  forcedTool: z.optional(z.boolean()),
  stop: z.optional(z.boolean()),
  parallelTools: z.optional(z.boolean()),
  prefill: z.optional(z.boolean()),
  schemaWithout: z.optional(z.array(Word)),
  maxTools: z.optional(z.int().check(z.positive())),
  media: z.optional(z.array(z.enum(MEDIA))),
  versions: z.optional(z.array(Word).check(z.minLength(1))),
  betas: z.optional(z.union([z.literal('forward'), z.array(Word)])),
  betasWithout: z.optional(z.array(Word)),
  ...DIALECT,
  customTools: z.optional(z.boolean()),
  content: z.optional(z.literal('text')),
  turns: z.optional(z.literal('alternating')),
  streamOptions: z.optional(z.boolean()),
  metadata: z.optional(z.literal('stored')),
  billingLine: z.optional(z.boolean()),
  cacheMarks: z.optional(z.union([z.enum(CACHE_LIVES), z.literal('off')])),
  cacheMinimum: z.optional(z.int().check(z.nonnegative())),
  cacheFields: z.optional(z.array(z.enum(CACHE_FIELDS))),
  cacheWithout: z.optional(z.array(Word)),
  hintsWithout: z.optional(z.array(z.enum(HINTS))),
  cacheKeyHeader: z.optional(Word),
  store: z.optional(z.boolean()),
});

export const TargetProfile = z.pipe(
  z.union([Preset, Members], {
    error: ({ input }) =>
      typeof input === 'string'
        ? `must be a preset: ${Object.keys(PRESETS).join(', ')}`
        : 'must be a preset, or an object with members of a profile',
  }),
  z.transform((wire): Profile => {
    if (typeof wire === 'string') return PRESETS[wire];
    const { preset, ...members } = wire;
    return { ...(preset && PRESETS[preset]), ...members };
  }),
);
