import { isDeepStrictEqual } from 'node:util';
import type { Profile } from '../protocols/profile.ts';
import { PRESETS, type PresetName } from './profiles.ts';

/**
 * The page of each vendor that states most of its presets (of GLM an integrator's), and the day on which they were last
 * compared with it and with published refusals, as docs/providers.md has them.
 */
const PAGES: [names: RegExp, source: string, checkedOn: string][] = [
  [
    /^claude-/,
    'https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking',
    '2026-11-23',
  ],
  [/^(?:gpt-|o-series)/, 'https://platform.openai.com/docs/guides/reasoning', '2026-11-23'],
  [/^deepseek/, 'https://api-docs.deepseek.com/guides/thinking_mode', '2026-11-23'],
  [/^glm-/, 'https://java.agentscope.io/v2/en/integration/model/glm', '2026-11-23'],
  [/^groq/, 'https://console.groq.com/docs/reasoning', '2026-11-24'],
  [/^kimi-/, 'https://platform.kimi.ai/docs/api/models-overview', '2026-11-23'],
  [/^grok-/, 'https://docs.x.ai/developers/model-capabilities/text/reasoning', '2026-11-23'],
  [/^gemini-/, 'https://ai.google.dev/gemini-api/docs/thinking', '2026-11-24'],
  [/^minimax-/, 'https://platform.minimax.io/docs/api-reference/text-anthropic-api', '2026-11-23'],
  [/^mistral-medium/, 'https://docs.mistral.ai/inference/conversations/reasoning', '2026-11-24'],
  [
    /^mistral/,
    'https://docs.mistral.ai/inference/conversations/advanced/prompt-caching',
    '2026-11-24',
  ],
];

const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

/**
 * The largest preset of whose members a profile has all, with its page and day: the catalog keeps members, not the name, and
 * some presets are parts of others.
 */
export const presetOf = (
  profile: Profile | undefined,
): { name: string; source: string; checkedOn: string } | undefined => {
  const own: Record<string, unknown> = { ...profile };
  const sizeOf = (each: PresetName) => Object.keys(PRESETS[each]).length;
  const [name] = PRESET_NAMES.filter((each) =>
    Object.entries(PRESETS[each]).every(([member, value]) => isDeepStrictEqual(own[member], value)),
  ).toSorted((one, other) => sizeOf(other) - sizeOf(one));
  const page = name && PAGES.find(([names]) => names.test(name));
  return page && { name, source: page[1], checkedOn: page[2] };
};
