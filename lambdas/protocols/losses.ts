import type { GenerationRequest } from './generation.ts';
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
};

export const isDefault = (name: string, value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === DEFAULTS[name] ||
  (Array.isArray(value) && value.every((item) => name === 'modalities' && item === 'text'));

/** The caller's fields that a target of `protocol` lacks, without the harmless ones. */
export const fieldsBeyond = (protocol: ProtocolName, { extras }: GenerationRequest): string[] => {
  if (extras.protocol === protocol || HARMLESS[extras.protocol] === undefined) return [];
  return Object.entries(extras.fields).flatMap(([name, value]) =>
    CARRIED.includes(name) || HARMLESS[extras.protocol]?.includes(name) || isDefault(name, value)
      ? []
      : [name],
  );
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
