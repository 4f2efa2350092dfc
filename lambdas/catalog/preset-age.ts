import { isDeepStrictEqual } from 'node:util';
import type { Profile } from '../protocols/profile.ts';
import { PRESETS, type PresetName } from './profiles.ts';

/** The day on which a preset was last compared with its vendor's pages, as docs/providers.md has it with the source. */
const CHECKED_ON: Record<PresetName, string> = {
  'claude-4.5': '2026-11-23',
  'claude-opus-4.5': '2026-11-23',
  'claude-4.6': '2026-11-23',
  'claude-4.7': '2026-11-23',
  'claude-5': '2026-11-23',
  'claude-fable-5': '2026-11-23',
  'claude-haiku-5.5': '2026-11-23',
  'claude-sonnet-5.5': '2026-11-23',
  'claude-5.5': '2026-11-23',
  'gpt-4': '2026-11-23',
  'o-series': '2026-11-23',
  'gpt-5': '2026-11-23',
  'gpt-5.1': '2026-11-23',
  'gpt-5.2': '2026-11-23',
  'gpt-5.4': '2026-11-23',
  'gpt-5.6': '2026-11-23',
  'gpt-oss': '2026-11-23',
  deepseek: '2026-11-23',
  'glm-5.3': '2026-11-23',
  groq: '2026-11-23',
  'groq-qwen': '2026-11-23',
  'kimi-k2.5': '2026-11-23',
  'kimi-k3': '2026-11-23',
  'grok-4': '2026-11-23',
  'grok-4.3': '2026-11-23',
  'grok-4.5': '2026-11-23',
  'grok-4.6': '2026-11-23',
  'minimax-m3': '2026-11-23',
  mistral: '2026-11-23',
  'mistral-medium-3.5': '2026-11-23',
};

const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

/** The preset of a profile that has all of its members, and its day: the catalog keeps members, not the name. */
export const presetOf = (
  profile: Profile | undefined,
): { name: string; checkedOn: string } | undefined => {
  const own: Record<string, unknown> = { ...profile };
  const name = PRESET_NAMES.find((each) =>
    Object.entries(PRESETS[each]).every(([member, value]) => isDeepStrictEqual(own[member], value)),
  );
  return name && { name, checkedOn: CHECKED_ON[name] };
};
