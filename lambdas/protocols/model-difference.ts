import { COMMON_FORMS, type Profile, SAMPLING_FIELDS, type SamplingField } from './profile.ts';

/** One member of a profile, as a provider's rejection shows that it must be. */
export type ModelDifference =
  | { member: 'thinking' | 'sampling' | 'betas'; without: string }
  | { member: 'effort'; only: string[] }
  | { member: 'effortWithTools' | 'forcedTool'; is: false }
  | { member: 'systemTurns'; is: 'leading' }
  | { member: 'maxTokensField'; is: 'max_completion_tokens' }
  /** Of one conversation, not of the model: the thinking in its history is not valid. */
  | { member: 'history' };

type Rule = { words: RegExp; read: (found: string[]) => ModelDifference };

/** `[low medium high]`, `low, medium and high` */
const levelsIn = (text: string): string[] =>
  text.match(/none|minimal|low|medium|xhigh|high|max/g) ?? [];

/** Published words of providers. A rule knows only what no caller's mistake is rejected with. */
const RULES: Rule[] = [
  {
    words: /adaptive thinking is not supported on this model/i,
    read: () => ({ member: 'thinking', without: 'adaptive' }),
  },
  {
    words: /["'`]?thinking\.type\.(enabled|disabled|adaptive)["'`]? is not supported/i,
    read: ([form = '']) => ({ member: 'thinking', without: form.toLowerCase() }),
  },
  {
    words: /does not support (?:the effort parameter|reasoning[ _.]effort)/i,
    read: () => ({ member: 'effort', only: [] }),
  },
  {
    words: /effort.{1,100}not supported.{1,100}supported values:? (.{1,100})/i,
    read: ([levels = '']) => ({ member: 'effort', only: levelsIn(levels) }),
  },
  {
    words:
      /\b(temperature|top_p|top_k|presence_penalty|frequency_penalty|logit_bias|logprobs|top_logprobs)["'`]? is (?:deprecated for|not supported (?:with|by|for)) this model/i,
    read: ([field = '']) => ({ member: 'sampling', without: field.toLowerCase() }),
  },
  {
    words: /function tools with reasoning_effort are not supported/i,
    read: () => ({ member: 'effortWithTools', is: false }),
  },
  {
    words: /tool_choice.{0,60}(?:forc\w+ tool use|tool use is forced).{0,20} not supported/i,
    read: () => ({ member: 'forcedTool', is: false }),
  },
  {
    words: /role ["'`]?system["'`]? is not supported on this model/i,
    read: () => ({ member: 'systemTurns', is: 'leading' }),
  },
  {
    words: /unsupported parameter.{0,5}max_tokens.{0,80}max_completion_tokens/i,
    read: () => ({ member: 'maxTokensField', is: 'max_completion_tokens' }),
  },
  {
    words: /unsupported beta header:? ["'`]?([\w.-]{1,80})/i,
    read: ([beta = '']) => ({ member: 'betas', without: beta }),
  },
  {
    words: /invalid ["'`]?signature["'`]? in ["'`]?thinking["'`]? block/i,
    read: () => ({ member: 'history' }),
  },
];

/** Rejections are one sentence; the rest may quote the request. */
const MAX_WORDS = 500;

/** The known difference that a provider's rejection names; undefined for every other rejection. */
export const differenceIn = (words: string | undefined): ModelDifference | undefined => {
  if (words === undefined) return undefined;
  const text = words.slice(0, MAX_WORDS);
  for (const { words: pattern, read } of RULES) {
    const found = pattern.exec(text);
    if (found) return read(found.slice(1));
  }
  return undefined;
};

const PENALTIES = ['presence_penalty', 'frequency_penalty'];

const samplingOf = (field: string): string => {
  if (PENALTIES.includes(field)) return 'penalties';
  return field === 'top_logprobs' ? 'logprobs' : field;
};

/** As many as a request can ask for: callers may invent any. */
const MAX_BETAS = 32;

/** The profile with the difference; an absent list starts with all that the protocols have. */
export const withDifference = (profile: Profile, difference: ModelDifference): Profile => {
  switch (difference.member) {
    case 'thinking': {
      const { thinking = COMMON_FORMS }: Profile = profile;
      const forms = thinking.filter((form) => form !== difference.without);
      // The models without the adaptive form are those before the effort, but for one.
      const isEarly = difference.without === 'adaptive' && profile.effort === undefined;
      return { ...profile, thinking: forms, ...(isEarly && { effort: [] }) };
    }
    case 'effort': {
      const isEarly = difference.only.length === 0 && profile.thinking === undefined;
      const early = isEarly ? { thinking: ['enabled', 'disabled'] as const } : {};
      return { ...profile, ...early, effort: difference.only };
    }
    case 'sampling': {
      const { sampling = SAMPLING_FIELDS } = profile;
      const without = samplingOf(difference.without);
      return { ...profile, sampling: sampling.filter((field: SamplingField) => field !== without) };
    }
    case 'betas': {
      const betas = [...(profile.betasWithout ?? []), difference.without];
      return { ...profile, betasWithout: betas.slice(-MAX_BETAS) };
    }
    case 'history':
      return profile;
    default:
      return { ...profile, [difference.member]: difference.is };
  }
};
