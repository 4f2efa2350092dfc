import { asRecord } from '../bytes/json.ts';
import {
  ADAPTIVE_EFFORTS,
  LEVELS,
  levelsAmong,
  SAMPLING_FIELDS,
  THINKING_FORMS,
} from '../profile.ts';
import { CAP_RULES } from './cap-rules.ts';
import { refusedItems } from './common-items.ts';
import { bare } from './echo.ts';
import type { ModelDifference, Rule } from './model-difference.ts';
import { refusedKeywords, refusedMember } from './removable.ts';

/** Replaces the name of an agent's billing line in rejections. */
export const BILLING_LINE = 'billing line';

/** The names of a list in a sentence: `low, medium and high`. */
const namesIn = (text: string): string[] => text.match(/\w[\w.-]*\w/g) ?? [];

/** `use`: the form that the provider recommends in its place. */
const thinkingWithout = (form = '', use = ''): ModelDifference | undefined => {
  const named = (text: string) => THINKING_FORMS.filter((name) => name === text);
  const without = named(form);
  return without.length > 0 ? { member: 'thinking', without, use: named(use) } : undefined;
};

const thinkingOnly = (forms = ''): ModelDifference | undefined => {
  const accepted = namesIn(forms);
  const without = THINKING_FORMS.filter((name) => !accepted.includes(name));
  // A list without any form is not one of forms.
  return without.length < THINKING_FORMS.length
    ? { member: 'thinking', without, use: [] }
    : undefined;
};

const NO_SAMPLING: ModelDifference = { member: 'sampling', without: SAMPLING_FIELDS };

const effortOnly = (levels = ''): ModelDifference | undefined => {
  const only = levelsAmong(namesIn(levels));
  return only.length > 0 ? { member: 'effort', only } : undefined;
};

const betasWithout = (text = ''): ModelDifference => ({ member: 'betas', without: namesIn(text) });
const versionsWithout = (name = ''): ModelDifference => ({ member: 'versions', without: [name] });

const hintsWithout =
  (...without: string[]) =>
  (): ModelDifference => ({ member: 'hints', without });
const cacheWithout = (name = ''): ModelDifference => ({ member: 'cache', without: [name] });
const marksWithout = (name = ''): ModelDifference => ({ member: 'marks', without: [name] });

/**
 * Published words of providers whose difference is another than that of the member that they name (removable.ts), in lower case
 * and without quotation marks and their escapes. A rule knows only what no caller's mistake is rejected with.
 */
const RULES: Rule[] = [
  [
    /thinking\.type\.(\w{1,20}) is not supported(?:.{1,20}\. use thinking\.type\.(\w{1,20}))?/,
    thinkingWithout,
  ],
  ...CAP_RULES,
  [/\bthinking(?:\.type)?: input tag (\w{1,20}) found/, thinkingWithout],
  [/\bthinking(?:[. ]type(?:: input)? should be |: only type=)(.{1,60})/, thinkingOnly],
  [/effort.{1,100}\bsupported (?:levels|values)(?: are)?:? (.{1,100})/, effortOnly],
  [/\blevel \w{1,20} (?:is )?not supported.{1,20}\blevels(?: are)?:? (.{1,100})/, effortOnly],
  [
    /effort\W{1,4}(?:msg: |invalid option: )?(?:(?:input )?should be|(?:value )?(?:must be|is not) one of|expected)((?:(?!, (?:input|received)).){1,100})/,
    effortOnly,
  ],
  // Of known levels, those above `high` are not sent without thinking.
  [
    /effort \S{1,10} is not supported when thinking is disabled/,
    () => ({ member: 'effort', only: ADAPTIVE_EFFORTS }),
  ],
  [
    /this model only works in thinking mode|reasoning is mandatory/,
    () => ({ member: 'effort', only: ['low', 'medium', 'high'] }),
  ],
  // Asked of every model that may reason.
  [/encrypted content is not supported/, () => ({ member: 'effort', only: [] })],
  // Names no field: a level that some models lack.
  [/unknown variant (?:minimal|xhigh|max), expected one of (.{1,100})/, effortOnly],
  // One generation of a vendor rejects them together.
  [/(?:temperature|top_[pk]) is deprecated for this model/, () => NO_SAMPLING],
  [/temperature and top_p cannot both be/, () => ({ member: 'temperatureWithTopP', is: false })],
  // Of a tool of another type than `function`.
  [
    /function is a required property\b.{1,40}\btools\b|\bkey function not found/,
    () => ({ member: 'customTools', is: false }),
  ],
  [
    /function tools with reasoning_effort are not supported/,
    () => ({ member: 'effortWithTools', is: false }),
  ],
  [
    /tool_choice: (?:forced tool use is|type tool and any are) not supported|tool_choice\W{1,4}(?:msg: )?(?:input )?(?:should|must) be .{0,40}\bauto\b|invalid tool_choice type: object/,
    () => ({ member: 'forcedTool', is: false }),
  ],
  [
    /thinking mode does not support this tool_choice|tool_choice .{1,60}in thinking mode|tool_choice .{1,20} is incompatible with thinking/,
    () => ({ member: 'toolChoice' }),
  ],
  [
    /role system is not supported on this model|messages: unexpected role system|system message must be (?:at the beginning|the first)|invalid message role: system|\brole: (?:unknown variant system|input should be user or assistant)/,
    () => ({ member: 'systemTurns', is: 'leading' }),
  ],
  // Templates of Gemma and Ministral; Google; OpenAI of its o1-mini.
  [
    /system role not supported|roles are supported, got system|developer instruction is not enabled|role does not support system with this model/,
    () => ({ member: 'systemTurns', is: 'none' }),
  ],
  [
    /roles must alternate|unexpected role user after role tool/,
    () => ({ member: 'turns', is: 'alternating' }),
  ],
  // The rest quotes the id.
  [/tool call id was\b/, () => ({ member: 'toolCallIds', is: 'short' })],
  [
    /\btool_call(?:s\[\d+\]\.|_)id: string too long/,
    () => ({ member: 'toolCallIds', is: 'limited' }),
  ],
  [
    /reasoning_content (?:in the thinking mode must be passed|is missing in assistant)/,
    () => ({ member: 'reasoningHistory', is: 'required' }),
  ],
  // Bedrock names none.
  [/unsupported beta header:? (\S{1,80})|invalid beta flag/, betasWithout],
  [/unexpected value\(s\) (.{1,400}) for the anthropic-beta/, betasWithout],
  // OpenRouter.
  [/^no endpoints available that support .{1,60} \((\S{1,80})\)/, betasWithout],
  [/anthropic-version: (\d{4}-\d\d-\d\d) is not a valid version/, versionsWithout],
  // OpenAI shows them to organizations that have proved who they are.
  [/must be verified to generate reasoning summaries/, hintsWithout('summary')],
  // DeepSeek, of an agent's JSON. Kimi and others of a type, without which the tools must all be there.
  [/invalid user_id\b/, hintsWithout('metadata')],
  [
    /(?:input tag|unknown variant|unsupported content type .{1,40}:) tool_reference\b/,
    hintsWithout('tool_reference', 'defer_loading'),
  ],
  // Bedrock.
  [/billing line is a reserved keyword/, () => ({ member: 'billingLine', is: false })],
  [
    /invalid type: sequence, expected a string|content\W{1,4}(?:value )?must be a string|content fields type should be str\b|^(?:.{0,80}\W)?input should be a valid string/,
    () => ({ member: 'content', is: 'text' }),
  ],
  // Cerebras.
  [/tools with strict=true are not supported/, () => ({ member: 'hints', without: ['strict'] })],
  [/cache_control\.(?:ephemeral\.)?(\w{1,40}): extra inputs are not permitted/, cacheWithout],
  [/(?<!thinking\.)\b(cache_control): extra inputs are not permitted/, marksWithout],
  [
    /invalid signature in thinking block|thinking blocks in the latest assistant message cannot be modified|encrypted content .{0,120}could not be (?:verified|decrypted)/,
    () => ({ member: 'history' }),
  ],
];

/** The levels below the one that was sent, where a rejection names the field and no level. */
const lowerEffort = (sent: unknown): ModelDifference | undefined => {
  const { reasoning_effort: own, reasoning, output_config: config } = asRecord(sent) ?? {};
  const level = own ?? asRecord(reasoning)?.effort ?? asRecord(config)?.effort;
  const rank = LEVELS.indexOf(String(level));
  return rank === -1 ? undefined : { member: 'effort', only: LEVELS.slice(0, rank) };
};

/** Rejections are one sentence; the rest may quote the request. */
const MAX_WORDS = 500;

/** The difference that a provider's rejection of what was sent names; undefined for every other rejection. */
export const differenceIn = (words = '', sent?: unknown): ModelDifference | undefined => {
  const text = bare(words.slice(0, MAX_WORDS)).toLowerCase();
  const common = refusedItems(text, sent);
  if (common) return common;
  for (const [pattern, read] of RULES) {
    const found = pattern.exec(text);
    const difference = found && read(...found.slice(1));
    if (difference) return difference;
  }
  return (
    refusedMember(text, sent) ??
    refusedKeywords(bare(words).toLowerCase()) ??
    (/\binvalid_(?:reasoning_)?effort\b/.test(text) ? lowerEffort(sent) : undefined)
  );
};
