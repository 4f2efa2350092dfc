import { asArray, asRecord, type Json } from '../bytes/json.ts';
import { EARLIER_THINKING, REQUEST_HINTS, type SamplingField, TOOL_HINTS } from '../profile.ts';
import type { ModelDifference } from './model-difference.ts';

type TokensField = 'max_tokens' | 'max_completion_tokens';

/** A member of a request that a profile can leave out or spell otherwise. */
type Removable = {
  /** How providers write its name, in lower case and without quotation marks. */
  spelled: string;
  differenceIn(sent: Json): ModelDifference | undefined;
};

/** `presence_penalty`, `presencePenalty`, `presence penalty`. */
const anyCase = (name: string): string => name.replaceAll('_', '[_ ]?');

const field = (name: string, difference: ModelDifference, spelled = anyCase(name)): Removable => ({
  spelled,
  differenceIn: (sent) => (sent[name] == null ? undefined : difference),
});

/** One that the router may have added, so that a received body lacks it. */
const own = (name: string, difference: ModelDifference, spelled = anyCase(name)): Removable => ({
  spelled,
  differenceIn: () => difference,
});

/** Perhaps rejected only where the model thinks. */
const sampling = (name: string, member: SamplingField): Removable =>
  field(name, { member: 'sampling', without: [member], whenThinking: true });

/** Sent under either name: the body may be as the caller wrote it. */
const cap = (name: TokensField, is: TokensField): Removable => ({
  spelled: anyCase(name),
  differenceIn: (sent) =>
    (sent.max_tokens ?? sent.max_completion_tokens) == null
      ? undefined
      : { member: 'maxTokensField', is },
});

const hint = (name: string): ModelDifference => ({ member: 'hints', without: [name] });
const NO_EFFORT: ModelDifference = { member: 'effort', only: [] };
const NO_PARALLEL: ModelDifference = { member: 'parallelTools', is: false };
const STOP = 'stop(?:[_ ]?sequences?)?';
const NO_STOP: ModelDifference = { member: 'stop', is: false };

const THINKS: Record<string, ModelDifference> = {
  adaptive: { member: 'thinking', without: ['adaptive'], use: [] },
  enabled: { member: 'thinking', without: ['enabled'], use: [] },
};

const isForced = (choice: unknown): boolean => {
  const type = asRecord(choice)?.type ?? choice;
  return ['required', 'any', 'function', 'tool', 'allowed_tools'].includes(String(type));
};

/** A tool, or the function in a tool of chat. */
const holderOf = (tool: unknown): Json => {
  const own = asRecord(tool) ?? {};
  return asRecord(own.function) ?? own;
};

const REMOVABLE: Removable[] = [
  sampling('temperature', 'temperature'),
  sampling('top_p', 'top_p'),
  sampling('top_k', 'top_k'),
  sampling('frequency_penalty', 'penalties'),
  sampling('presence_penalty', 'penalties'),
  sampling('logit_bias', 'logit_bias'),
  sampling('logprobs', 'logprobs'),
  sampling('top_logprobs', 'logprobs'),
  field('stop', NO_STOP, STOP),
  field('stop_sequences', NO_STOP, STOP),
  field('parallel_tool_calls', NO_PARALLEL),
  {
    spelled: `(?:tool_choice\\.)?${anyCase('disable_parallel_tool_use')}`,
    differenceIn: ({ tool_choice: choice }) =>
      asRecord(choice)?.disable_parallel_tool_use === undefined ? undefined : NO_PARALLEL,
  },
  {
    spelled: anyCase('tool_choice'),
    differenceIn: ({ tool_choice: choice }) =>
      isForced(choice) ? { member: 'forcedTool', is: false } : undefined,
  },
  field('metadata', { member: 'metadata', is: 'stored' }),
  own('stream_options', { member: 'streamOptions', is: false }),
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'].map((name) =>
    own(name, { member: 'cache', without: [name] }),
  ),
  ...TOOL_HINTS.map(
    (name): Removable => ({
      spelled: `(?:tools[\\w.[\\]]{0,40}\\.)?${anyCase(name)}`,
      differenceIn: ({ tools }) =>
        asArray(tools).some((tool) => holderOf(tool)[name] !== undefined) ? hint(name) : undefined,
    }),
  ),
  cap('max_tokens', 'max_completion_tokens'),
  cap('max_completion_tokens', 'max_tokens'),
  field('reasoning_effort', NO_EFFORT, 'reasoning[_ .]?effort|effort|reasoning|thinking'),
  {
    spelled: 'reasoning(?!\\.summary)(?:\\.effort)?',
    differenceIn: ({ reasoning }) =>
      asRecord(reasoning)?.effort === undefined ? undefined : NO_EFFORT,
  },
  {
    spelled: 'output_config(?:\\.effort)?|effort',
    differenceIn: ({ output_config: config }) =>
      asRecord(config)?.effort === undefined ? undefined : NO_EFFORT,
  },
  {
    spelled: 'output_config(?:\\.format)?',
    differenceIn: ({ output_config: config }) =>
      asRecord(config)?.format === undefined ? undefined : hint('output_format'),
  },
  {
    spelled: 'thinking(?:\\.type)?|reasoning',
    differenceIn: ({ thinking }) => THINKS[String(asRecord(thinking)?.type)],
  },
  {
    spelled: '(?:messages[\\w.[\\]]{0,40}\\.)?reasoning(?:[_ ]?(?:content|details))?',
    differenceIn: ({ messages }) =>
      asArray(messages).some((message) =>
        EARLIER_THINKING.some((name) => asRecord(message)?.[name] != null),
      )
        ? { member: 'reasoningHistory', is: 'refused' }
        : undefined,
  },
  ...REQUEST_HINTS.map((name) =>
    own(name, hint(name), `(?:(?:text|reasoning|messages[\\w.[\\]]{0,40})\\.)?${anyCase(name)}`),
  ),
];

// --- the words of a refusal, around the name ---

const NOUN = '(?:parameter|argument|field|name|property|key|keyword|option|attribute|input)';
const KIND = '(?:request|json|schema|body|query|input|optional|top-level)';
const DENIED = '(?:supported|permitted|allowed|available|accepted|implemented|recognized)';

/** `#` is the name. None of them is about a value: that is a mistake of the caller. */
const GRAMMARS = [
  // Unsupported parameter: #. Unrecognized request argument supplied: #. Unknown name #. Extraneous key [#].
  `(?:unsupported|unknown|unrecognized|unexpected|extraneous|invalid|forbidden)(?: ${KIND}){0,2}(?: ${NOUN}(?:s|\\(s\\))?)(?: (?:supplied|found|provided))?\\W{1,4}#`,
  // # is not supported. Property # is unsupported. # is only allowed when. Parameters [#] are not allowed.
  `#\\]?(?: ${NOUN})? (?:is|are) (?:(?:currently |yet )?not (?:currently |yet )?${DENIED}|unsupported|deprecated|only allowed when)`,
  // Model m does not support parameter #.
  `(?:does not|doesnt|cannot) (?:support|accept|recognize|use)(?: the| this)?(?: ${NOUN})? #`,
  // Extra inputs are not permitted, field: #.
  `(?:extra|additional|unexpected|unknown) ${NOUN}s? (?:is|are) not ${DENIED}, ${NOUN}: #`,
  // body -> #: Extra inputs are not permitted.
  `#\\W{1,4}(?:msg\\W{1,4})?(?:extra|additional|unexpected|unknown) ${NOUN}s?\\b`,
  // Argument not supported on this model: #.
  `${NOUN}s? not ${DENIED}(?: \\w{1,20}){0,4}: #`,
  // # does not support 0.2 with this model. #: only 1 is allowed for this model.
  `#(?: does not support \\S{1,20} (?:with|on|for)|: only \\S{1,20} is ${DENIED} (?:with|on|for)) this model`,
];

/** A name at the top level of a request; not a member of a message or tool. */
const TOP_LEVEL = '(?<![\\w.\\]])(?:(?:body|request|root|generation_?config|[$#])[\\W]{1,4})?';

const patternOf = (name: string, flags = ''): RegExp =>
  new RegExp(GRAMMARS.map((words) => words.replace('#', () => name)).join('|'), flags);

const PATTERNS = REMOVABLE.map(({ spelled }) => patternOf(`${TOP_LEVEL}(?:${spelled})(?!\\w)`));

/** Keywords of JSON Schema without which a tool is the same to a model, as far as descriptions say it. */
const SCHEMA_KEYWORDS = [
  ...['$schema', '$id', '$comment', 'title', 'default', 'examples', 'deprecated', 'readOnly'],
  ...['format', 'pattern', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'const', 'not'],
  ...['minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'additionalProperties', 'patternProperties'],
  ...['propertyNames', 'dependentRequired', 'dependentSchemas', 'if', 'then', 'else'],
  ...['allOf', 'anyOf', 'oneOf', 'unevaluatedItems', 'unevaluatedProperties'],
] as const;

/** In a path within a tool, or alone. */
const KEYWORD = `(?<![\\w$])(${SCHEMA_KEYWORDS.join('|').replaceAll('$', '\\$').toLowerCase()})(?!\\w)`;
const KEYWORDS = patternOf(KEYWORD, 'g');

/** The keywords that a rejection says the schemas of tools may not have; undefined if it names none. */
export const refusedKeywords = (text: string): ModelDifference | undefined => {
  const named = [...text.matchAll(KEYWORDS)].flatMap((found) => found.slice(1));
  const without = SCHEMA_KEYWORDS.filter((name) => named.includes(name.toLowerCase()));
  return without.length > 0 ? { member: 'schema', without } : undefined;
};

/**
 * The difference by which the request goes without the member that a rejection says the model does not have, in any of the
 * usual grammars; undefined if it names none that was sent. A guess: learned only where the request is then accepted.
 */
export const refusedMember = (text: string, sent: unknown): ModelDifference | undefined => {
  const body = asRecord(sent) ?? {};
  for (const [index, member] of REMOVABLE.entries()) {
    const difference = member.differenceIn(body);
    if (difference && PATTERNS[index]?.test(text)) return difference;
  }
  return undefined;
};
