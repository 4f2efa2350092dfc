import type { Block, Extras, GenerationRequest, Turn } from './generation.ts';
import { asRecord, type Json } from './json.ts';
import type { ProtocolName } from './protocol-name.ts';

/**
 * Fields of a caller's protocol that a target of another protocol does not get. Those listed here change no
 * response, or are sent by agents to every provider; all others are named in `x-router-dropped`.
 */
export const HARMLESS: Partial<Record<ProtocolName, readonly string[]>> = {
  chat: [
    'store',
    'metadata',
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    'stream_options',
    'prediction',
    'verbosity',
  ],
  messages: [
    'cache_control',
    'metadata',
    'context_management',
    'service_tier',
    'inference_geo',
    'speed',
    'thinking',
  ],
};

/** Fields that have a canonical form, and stay in `extras` because a target of the protocol gets them too. */
const CARRIED = ['max_completion_tokens', 'functions'];

/** Members of turns, parts and tools without which a response may be another one. */
const NAMED_WITHIN = [
  ...['name', 'detail', 'citations', 'context', 'transformations', 'clear_at', 'output_config'],
  ...['input_examples', 'allowed_callers'],
];

/** Fields without which the response is another one: only targets of the protocol are called. */
export const ESSENTIAL: Partial<Record<ProtocolName, readonly string[]>> = {
  chat: ['web_search_options', 'modalities', 'audio'],
  messages: ['mcp_servers'],
};

/** Values that ask for what a target does anyway. */
const DEFAULTS: Record<string, unknown> = {
  temperature: 1,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
  detail: 'auto',
};

export const isDefault = (name: string, value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === DEFAULTS[name] ||
  asRecord(value)?.enabled === false ||
  (Array.isArray(value) && value.every((item) => name === 'modalities' && item === 'text'));

const extrasOf = (block: Block): (Extras | undefined)[] => {
  if (block.type === 'native') return [];
  return [block.extras, ...(block.type === 'tool-result' ? block.content.flatMap(extrasOf) : [])];
};

const named = (extras: Extras | undefined): string[] => {
  if (extras === undefined || Object.keys(extras.fields).length === 0) return [];
  const fields = { ...extras.fields, ...asRecord(extras.fields.image_url) };
  return NAMED_WITHIN.filter((name) => !isDefault(name, fields[name]));
};

/** Of the assistant's turns, of which agents echo every member, only speech: its upstream alone has it. */
const namedOfTurn = ({ role, blocks, extras }: Turn): string[] => {
  if (role === 'assistant') return extras?.fields.audio === undefined ? [] : ['audio'];
  return [extras, ...blocks.flatMap(extrasOf)].flatMap(named);
};

const namedWithin = ({ turns, tools = [] }: GenerationRequest): string[] => [
  ...turns.flatMap(namedOfTurn),
  ...tools.flatMap((tool) => ('native' in tool ? [] : named(tool.extras))),
];

/** Whether a tool is strict, and the target's strict mode does not support its schema. */
const losesStrict = ({ tools = [] }: GenerationRequest, isStrict: (schema: Json) => boolean) =>
  tools.some((tool) => !('native' in tool) && tool.strict && !isStrict(tool.parameters));

/** The caller's fields that a target of `protocol` lacks, without the harmless ones. */
export const fieldsBeyond = (
  protocol: ProtocolName,
  request: GenerationRequest,
  isStrict: (schema: Json) => boolean,
): string[] => {
  const { extras } = request;
  if (extras.protocol === protocol) return [];
  const strict = losesStrict(request, isStrict) ? ['strict'] : [];
  const harmless = HARMLESS[extras.protocol];
  if (harmless === undefined) return strict;
  const fields = Object.entries(extras.fields).flatMap(([name, value]) =>
    CARRIED.includes(name) || harmless.includes(name) || isDefault(name, value) ? [] : [name],
  );
  return [...fields, ...namedWithin(request), ...strict];
};

/** Of them, those that a target must get. */
export const essentialBeyond = (
  protocol: ProtocolName,
  { extras }: GenerationRequest,
): string[] => {
  if (extras.protocol === protocol) return [];
  const names = ESSENTIAL[extras.protocol] ?? [];
  return names.filter((name) => !isDefault(name, extras.fields[name]));
};
