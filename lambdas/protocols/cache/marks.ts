import { asRecord } from '../bytes/json.ts';
import type { Block, GenerationRequest } from '../generation.ts';
import type { Profile } from '../profile.ts';
import { hasMarks, type Marking } from './members.ts';

/** Of any Claude model. */
const MOST_MINIMUM = 4_096;
/** Less than most texts have, as a mark on a prompt that is too short costs nothing. */
const CHARACTERS_PER_TOKEN = 3;
const CHARACTERS_OF_MEDIA = 3_000;

const lengthOf = (block: Block): number => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return block.text.length;
    case 'tool-call':
      return block.arguments.length;
    case 'tool-result':
      return block.content.reduce((sum, inner) => sum + lengthOf(inner), 0);
    default:
      return CHARACTERS_OF_MEDIA;
  }
};

/** Whether a prompt has fewer tokens than the model caches; reads no more of it than shows that. */
const isShort = ({ turns, tools = [] }: GenerationRequest, profile: Profile): boolean => {
  let left = (profile.cacheMinimum ?? MOST_MINIMUM) * CHARACTERS_PER_TOKEN;
  const reaches = (length: number) => {
    left -= length;
    return left <= 0;
  };
  return !(
    reaches(0) ||
    turns.some(({ blocks }) => blocks.some((block) => reaches(lengthOf(block)))) ||
    tools.some((tool) => reaches(JSON.stringify('native' in tool ? tool.value : tool).length))
  );
};

/** Whether a request is one of several: an agent's, or the next of a conversation. */
const isContinued = ({ turns, tools = [] }: GenerationRequest): boolean =>
  tools.length > 0 || turns.some(({ role }) => role === 'assistant');

const isExplicit = ({ chatFields, extras }: GenerationRequest): boolean =>
  asRecord((chatFields ?? extras.fields).prompt_cache_options)?.mode === 'explicit';

/** Who marks a request to a messages target of this profile. A caller of the protocol marks for itself. */
export const markingOf = (request: GenerationRequest, profile: Profile): Marking => {
  const none = (why: (Marking & { by: 'none' })['why']): Marking => ({ by: 'none', why });
  const { cacheMarks: life = 'off' } = profile;
  if (profile.cacheWithout?.includes('cache_control')) return none('rejected');
  if (hasMarks(request)) return { by: 'caller', why: 'sent' };
  if (request.extras.protocol === 'messages') return none('own');
  if (request.isUnmarked || life === 'off') return none('off');
  if (isExplicit(request)) return none('explicit');
  if (!isContinued(request)) return none('single');
  return isShort(request, profile) ? none('short') : { by: 'router', why: life };
};
