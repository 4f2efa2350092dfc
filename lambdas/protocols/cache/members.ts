/** What callers state about caches (docs/prompt-caches.md). */
import { mapOnce } from '../../support/memo.ts';
import { isBlankText } from '../bytes/edits.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import { type Edit, remove } from '../bytes/splice.ts';
import type { Block, GenerationRequest, NativeTool, Tool, Turn } from '../generation.ts';
import type { CacheLife, Profile } from '../profile.ts';

export const POINT = 'prompt_cache_breakpoint';

/** The end of a prefix that a caller asks to cache: `cache_control` or a breakpoint. */
export type Mark = { name: string; value: Json };

export const markOf = (fields: unknown): Mark | undefined => {
  if (fields === undefined) return undefined;
  const { cache_control, [POINT]: point } = asRecord(fields) ?? {};
  const control = asRecord(cache_control);
  if (control) return { name: 'cache_control', value: control };
  const value = asRecord(point);
  return value?.mode === 'explicit' ? { name: POINT, value } : undefined;
};

const fieldsIn = (block: Block): Json[] => {
  const own = (block.type === 'native' ? block.value : block.extras?.fields) ?? {};
  return block.type === 'tool-result' ? [...block.content.flatMap(fieldsIn), own] : [own];
};

const fieldsOf = (tool: Tool | NativeTool): unknown[] =>
  'native' in tool ? [tool.value] : [tool.extras?.fields, tool.extras?.fields.function];

/** The caller's marks, those of the conversation in their order. */
export const marksIn = ({ turns, tools = [], extras }: GenerationRequest): Mark[] =>
  [
    ...turns.flatMap((turn) => [...turn.blocks.flatMap(fieldsIn), turn.extras?.fields]),
    ...tools.flatMap(fieldsOf),
    extras.fields,
  ].flatMap((fields) => markOf(fields) ?? []);

const isMarked = (block: Block): boolean =>
  markOf(block.type === 'native' ? block.value : block.extras?.fields) !== undefined ||
  (block.type === 'tool-result' && block.content.some(isMarked));

/** Whether each turn has a mark. */
const areMarked = mapOnce(
  ({ blocks, extras }: Turn) => markOf(extras?.fields) !== undefined || blocks.some(isMarked),
);

/** Whether the caller marked a prefix. */
export const hasMarks = ({ turns, tools = [], extras }: GenerationRequest): boolean =>
  areMarked(turns).includes(true) ||
  tools.some((tool) => fieldsOf(tool).some(markOf)) ||
  markOf(extras.fields) !== undefined;

/** Who marked the prefixes of a request that its target caches, and why: a word of docs/records.md. */
export type Marking =
  | { by: 'caller'; why: 'sent' }
  | { by: 'router'; why: CacheLife }
  | { by: 'none'; why: 'automatic' | 'explicit' | 'off' | 'own' | 'rejected' | 'short' | 'single' };

/** Of protocols whose targets cache without marks. */
export const ownMarking = (request: GenerationRequest): Marking =>
  hasMarks(request) ? { by: 'caller', why: 'sent' } : { by: 'none', why: 'automatic' };

/** Whether a target is known to take a member of another protocol's caller. */
export const takes = ({ cacheFields = [], cacheWithout = [] }: Profile, name: string): boolean =>
  cacheFields.some((field) => field === name) && !cacheWithout.includes(name);

/** The fields for chat without those about caches that the target is not known to take. */
export const knownFields = (fields: Json | undefined, profile: Profile): Json =>
  Object.fromEntries(
    Object.entries(fields ?? {}).filter(
      ([name]) => !name.startsWith('prompt_cache_') || takes(profile, name),
    ),
  );

/** `prompt_cache_key` of the caller's session, for a target that is known to take one; undefined if the caller has sent one. */
export const sessionKey = (
  { cacheKey, chatFields, extras }: GenerationRequest,
  profile: Profile,
): string | undefined =>
  takes(profile, 'prompt_cache_key') &&
  (chatFields?.prompt_cache_key ?? extras.fields.prompt_cache_key) == null
    ? cacheKey
    : undefined;

type Path = Edit['path'];

/** What the members about caches are never in: values of the caller's own. */
const OPAQUE = ['input', 'input_schema', 'arguments', 'parameters', 'schema', 'metadata'];

/** Whether a hint may be at a path: in a request, in its `text` or `reasoning`, in a tool, or in a call of the history. */
const isHint = ([first, ...rest]: Path, value: unknown): boolean =>
  ['tools', 'text', 'reasoning'].includes(String(first)) ||
  (first === 'messages' && rest.at(-1) === 'caller') ||
  (rest.length === 0 && (first !== 'n' || value === 1));

/** Removes the members about caches, and the hints, that the target rejects from a request of its protocol. */
export const rejectedMembers = (wire: unknown, profile: Profile, path: Path = []): Edit[] => {
  const { cacheWithout = [], hintsWithout = [] } = profile;
  if (cacheWithout.length + hintsWithout.length === 0) return [];
  if (typeof wire !== 'object' || wire === null) return [];
  return Object.entries(wire).flatMap(([name, value]) => {
    const at = [...path, Array.isArray(wire) ? Number(name) : name];
    const isOfCaches = path.at(-1) === 'cache_control' || name.includes('cache');
    if (isOfCaches && cacheWithout.includes(name)) return [remove(at)];
    if (isHint(at, value) && hintsWithout.includes(name)) return [remove(at)];
    return OPAQUE.includes(name) ? [] : rejectedMembers(value, profile, at);
  });
};

const isUnmarked = (block: Block, isText: boolean): boolean =>
  block.type === 'tool-result'
    ? block.content.some((each) => isUnmarked(each, isText))
    : block.type === 'text' &&
      (isText || isBlankText(block.text)) &&
      Boolean(markOf(block.extras?.fields));

/** Whether turns lose marks: those on blank texts, or on all texts. */
const areUnmarked = mapOnce(({ blocks }: Turn, _, isText: boolean) =>
  blocks.some((block) => isUnmarked(block, isText)),
);

/** What a request of the target's own protocol loses: what the target rejects, and marks in `turns` on texts that are left out. */
export const cacheLosses = (received: unknown, profile: Profile, turns: Turn[] = []): string[] => [
  ...rejectedMembers(received, profile).map(({ path }) =>
    path
      .map((key) => (typeof key === 'number' ? '[]' : `.${key}`))
      .join('')
      .slice(1),
  ),
  ...(areUnmarked(turns, profile.content === 'text').includes(true)
    ? ['messages[].content[text].cache_control']
    : []),
];
