import type { Generated, Refusal } from './generation-upstream.ts';

/**
 * What generations of Claude reject, from the vendor's pages "Extended thinking", "Effort" and "Troubleshooting
 * thinking", with the vendor's words; none of it comes from the presets of this project.
 */
type Generation = {
  models: RegExp;
  forms: string[];
  efforts: string[];
  hasSampling: boolean;
  mayForceTools: boolean;
  mayPrefill: boolean;
};

const ALL = ['low', 'medium', 'high', 'xhigh', 'max'];

export const CLAUDE_GENERATIONS: Record<string, Generation> = {
  'claude-4.5': {
    models: /(?:sonnet|haiku)-4[-.]5|opus-4[-.]1/,
    forms: ['enabled', 'disabled'],
    efforts: [],
    hasSampling: true,
    mayForceTools: true,
    mayPrefill: true,
  },
  'claude-opus-4.5': {
    models: /opus-4[-.]5/,
    forms: ['enabled', 'disabled'],
    efforts: ['low', 'medium', 'high'],
    hasSampling: true,
    mayForceTools: true,
    mayPrefill: true,
  },
  'claude-4.6': {
    models: /(?:opus|sonnet)-4[-.]6/,
    forms: ['adaptive', 'enabled', 'disabled'],
    efforts: ['low', 'medium', 'high', 'max'],
    hasSampling: true,
    mayForceTools: true,
    mayPrefill: false,
  },
  'claude-4.7': {
    models: /opus-4[-.][78]/,
    forms: ['adaptive', 'disabled'],
    efforts: ALL,
    hasSampling: false,
    mayForceTools: true,
    mayPrefill: false,
  },
  'claude-5': {
    models: /(?:opus|sonnet)-5$/,
    forms: ['adaptive', 'disabled'],
    efforts: ALL,
    hasSampling: false,
    mayForceTools: true,
    mayPrefill: false,
  },
  'claude-fable-5': {
    models: /(?:fable|mythos)-5$/,
    forms: ['adaptive'],
    efforts: ALL,
    hasSampling: false,
    mayForceTools: true,
    mayPrefill: false,
  },
  'claude-haiku-5.5': {
    models: /haiku-5[-.]5/,
    forms: ['adaptive', 'disabled'],
    efforts: ALL,
    hasSampling: false,
    mayForceTools: true,
    mayPrefill: false,
  },
  'claude-sonnet-5.5': {
    models: /sonnet-5[-.]5/,
    forms: ['adaptive', 'between_tools'],
    efforts: ALL,
    hasSampling: false,
    mayForceTools: false,
    mayPrefill: false,
  },
  'claude-5.5': {
    models: /opus-5[-.]5|fable-5[-.]1/,
    forms: ['adaptive'],
    efforts: ALL,
    hasSampling: false,
    mayForceTools: false,
    mayPrefill: false,
  },
};

type Wire = {
  max_tokens: number;
  thinking?: { type: string; budget_tokens?: number };
  output_config?: { effort?: string };
  tool_choice?: { type: string };
  temperature?: number;
  top_p?: number;
  top_k?: number;
  messages: { role: string }[];
};

const MIN_BUDGET = 1024;

const ofThinking = (wire: Wire, { forms }: Generation): Refusal => {
  const { type, budget_tokens: budget = 0 } = wire.thinking ?? { type: 'absent' };
  if (type === 'absent') return undefined;
  if (type === 'adaptive' && !forms.includes(type)) {
    return 'adaptive thinking is not supported on this model';
  }
  if (!forms.includes(type)) return `"thinking.type.${type}" is not supported for this model.`;
  if (type !== 'enabled') return undefined;
  if (budget < MIN_BUDGET) return 'thinking.enabled.budget_tokens: Input should be at least 1024';
  return budget >= wire.max_tokens
    ? '`max_tokens` must be greater than `thinking.budget_tokens`.'
    : undefined;
};

const ofEffort = ({ output_config: config, thinking }: Wire, generation: Generation): Refusal => {
  const { effort } = config ?? {};
  const { efforts, forms } = generation;
  if (effort === undefined) return undefined;
  if (efforts.length === 0) return 'This model does not support the effort parameter.';
  const isOff = thinking?.type === 'disabled' && !forms.includes('enabled');
  if (isOff && efforts.indexOf(effort) > efforts.indexOf('high')) {
    return `output_config.effort '${effort}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`;
  }
  return efforts.includes(effort)
    ? undefined
    : `This model does not support effort level '${effort}'. Supported levels: ${efforts.toSorted().join(', ')}.`;
};

const ofSampling = (wire: Wire, { hasSampling }: Generation): Refusal => {
  const fields = (['temperature', 'top_p', 'top_k'] as const).filter(
    (name) => wire[name] !== undefined,
  );
  const [field] = fields;
  if (field === undefined) return undefined;
  if (!hasSampling) return `\`${field}\` is deprecated for this model.`;
  if (fields.includes('temperature') && fields.includes('top_p')) {
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
  }
  const thinks = wire.thinking !== undefined && wire.thinking.type !== 'disabled';
  if (thinks && wire.temperature !== undefined && wire.temperature !== 1) {
    return '`temperature` may only be set to 1 when thinking is enabled.';
  }
  return undefined;
};

const ofToolChoice = (wire: Wire, { mayForceTools }: Generation): Refusal => {
  const { type = 'auto' } = wire.tool_choice ?? {};
  if (type !== 'any' && type !== 'tool') return undefined;
  if (!mayForceTools) return 'tool_choice: type "tool" and "any" are not supported for this model.';
  const thinks = wire.thinking !== undefined && wire.thinking.type !== 'disabled';
  return thinks ? 'Thinking may not be enabled when tool_choice forces tool use.' : undefined;
};

const ofPrefill = ({ messages }: Wire, { mayPrefill }: Generation): Refusal =>
  !mayPrefill && messages.at(-1)?.role === 'assistant'
    ? 'This model does not support assistant message prefill.'
    : undefined;

/** The vendor's answer to a request for a model of the generation; undefined: it is accepted. */
export const refusalOf =
  (generation: Generation) =>
  ({ body }: Pick<Generated, 'body'>): Refusal => {
    const wire = body as Wire;
    const rules = [ofThinking, ofEffort, ofSampling, ofToolChoice, ofPrefill];
    return rules.map((rule) => rule(wire, generation)).find((refusal) => refusal !== undefined);
  };

/** The generation of a model by a provider's name of it. */
export const generationOf = (model: string): Generation | undefined =>
  Object.values(CLAUDE_GENERATIONS).find(({ models }) => models.test(model));
