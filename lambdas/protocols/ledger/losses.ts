import { withoutSpelling } from '../../support/readers.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type { Block, Extras, GenerationRequest } from '../generation.ts';
import type { ProtocolName } from '../protocol-name.ts';

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
    'prompt_cache_options',
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

/** Members of turns and their parts, and of tools, without which a response may be another one. */
const NAMED_IN_TURNS = [
  ...['name', 'detail', 'citations', 'context', 'transformations', 'clear_at', 'output_config'],
];
const SPEECH = ['audio'];
const NAMED_IN_TOOLS = ['input_examples', 'allowed_callers', 'async', 'output_schema'];

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
  async: false,
};

/** The item of a list that asks for what a target does anyway. */
const DEFAULT_ITEMS: Record<string, unknown> = { modalities: 'text', allowed_callers: 'direct' };

export const isDefault = (name: string, value: unknown): boolean =>
  value === undefined ||
  value === null ||
  withoutSpelling(value) === DEFAULTS[name] ||
  asRecord(value)?.enabled === false ||
  (Array.isArray(value) && value.every((item) => item === DEFAULT_ITEMS[name]));

/** Names of the members of turns and tools that a target of `protocol` does not get. */
const namedWithin = (
  protocol: ProtocolName,
  { turns, tools = [] }: GenerationRequest,
): string[] => {
  const dropped: string[] = [];
  const add = (extras: Extras | undefined, names: string[]) => {
    if (extras === undefined || extras.protocol === protocol) return;
    const fields = { ...extras.fields, ...asRecord(extras.fields.image_url) };
    dropped.push(...names.filter((name) => !isDefault(name, fields[name])));
  };
  const addFrom = (block: Block) => {
    if (block.type === 'native') return;
    add(block.extras, NAMED_IN_TURNS);
    if (block.type === 'tool-result') block.content.forEach(addFrom);
  };
  for (const { role, blocks, extras } of turns) {
    // Of the assistant's turns, of which agents echo every member, only speech: its upstream alone has it.
    add(extras, role === 'assistant' ? SPEECH : NAMED_IN_TURNS);
    if (role !== 'assistant') blocks.forEach(addFrom);
  }
  for (const tool of tools) if (!('native' in tool)) add(tool.extras, NAMED_IN_TOOLS);
  return dropped;
};

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
  const within = namedWithin(protocol, request);
  const harmless = HARMLESS[extras.protocol];
  // The decoder of responses names its fields; of the rest chat has the same.
  const entries = harmless ? Object.entries(extras.fields) : [];
  const fields = entries.flatMap(([name, value]) =>
    CARRIED.includes(name) || harmless?.includes(name) || isDefault(name, value) ? [] : [name],
  );
  return [...fields, ...within, ...strict];
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
