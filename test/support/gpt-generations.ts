import type { Generated, Refusal } from './generation-upstream.ts';

/**
 * What generations of OpenAI's models reject on chat completions, with the vendor's words, from its reference and
 * https://github.com/BerriAI/litellm/pull/34569; none of it comes from the presets of this project.
 */
type Generation = {
  /** Empty: the field is unknown. */
  efforts: string[];
  /** Of a request that names no effort. */
  defaultEffort: string;
  hasNewCap: boolean;
  /** Whether sampling fields are accepted while the model thinks, and functions. */
  samplesWhileThinking: boolean;
  callsWhileThinking: boolean;
};

const THINKING = { hasNewCap: true, samplesWhileThinking: false, callsWhileThinking: true };
const UP_TO_XHIGH = ['none', 'low', 'medium', 'high', 'xhigh'];

export const GPT_GENERATIONS: Record<string, Generation> = {
  'gpt-4': {
    efforts: [],
    defaultEffort: 'none',
    hasNewCap: false,
    samplesWhileThinking: true,
    callsWhileThinking: true,
  },
  'o-series': { ...THINKING, efforts: ['low', 'medium', 'high'], defaultEffort: 'medium' },
  'gpt-5': { ...THINKING, efforts: ['minimal', 'low', 'medium', 'high'], defaultEffort: 'medium' },
  'gpt-5.1': { ...THINKING, efforts: ['none', 'low', 'medium', 'high'], defaultEffort: 'none' },
  'gpt-5.2': { ...THINKING, efforts: UP_TO_XHIGH, defaultEffort: 'none' },
  'gpt-5.4': {
    ...THINKING,
    efforts: UP_TO_XHIGH,
    defaultEffort: 'none',
    callsWhileThinking: false,
  },
  'gpt-5.6': {
    ...THINKING,
    efforts: [...UP_TO_XHIGH, 'max'],
    defaultEffort: 'medium',
    callsWhileThinking: false,
  },
};

const SAMPLING = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs'];
/** Neutral values are accepted. */
const NEUTRAL: Record<string, unknown> = { temperature: 1, top_p: 1 };

const ofEffort = (body: Generated['body'], { efforts }: Generation): Refusal => {
  const { reasoning_effort: effort } = body;
  if (effort === undefined || efforts.includes(String(effort))) return undefined;
  const list = efforts.map((level) => `'${level}'`).join(', ');
  return efforts.length === 0
    ? 'Unrecognized request argument supplied: reasoning_effort'
    : `Unsupported value: 'reasoning_effort' does not support '${effort}' with this model. Supported values are: ${list}.`;
};

/** The vendor's answer to a request for a model of the generation; undefined: it is accepted. */
export const gptRefusalOf =
  (generation: Generation) =>
  ({ body }: Pick<Generated, 'body'>): Refusal => {
    const { hasNewCap, samplesWhileThinking, callsWhileThinking, defaultEffort } = generation;
    const thinks = (body.reasoning_effort ?? defaultEffort) !== 'none';
    if (hasNewCap && body.max_tokens !== undefined) {
      return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    }
    if (thinks && !callsWhileThinking && body.tools !== undefined) {
      return "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    }
    const field = SAMPLING.find((name) => body[name] !== undefined && body[name] !== NEUTRAL[name]);
    if (field && thinks && !samplesWhileThinking) {
      return `Unsupported value: '${field}' does not support ${body[field]} with this model. Only the default (1) value is supported.`;
    }
    return ofEffort(body, generation);
  };
