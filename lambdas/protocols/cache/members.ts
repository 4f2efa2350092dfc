/** What callers state about caches, from one protocol's form to another's (docs/prompt-caches.md). */
import { isBlankText } from '../bytes/edits.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import { type Edit, remove } from '../bytes/splice.ts';
import type { Block, GenerationRequest, Turn } from '../generation.ts';
import type { Profile } from '../profile.ts';
import type { UpstreamProtocolName } from '../protocol-name.ts';

const POINT = 'prompt_cache_breakpoint';

/** The end of a prefix that a caller asks to cache: `cache_control` or a breakpoint. */
type Mark = { name: string; value: Json };

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

/** The caller's marks, those of the conversation in their order. */
const marksIn = ({ turns, tools = [], extras }: GenerationRequest): Mark[] =>
  [
    ...turns.flatMap((turn) => [...turn.blocks.flatMap(fieldsIn), turn.extras?.fields]),
    ...tools.flatMap((tool) =>
      'native' in tool ? tool.value : [tool.extras?.fields, tool.extras?.fields.function],
    ),
    extras.fields,
  ].flatMap((fields) => markOf(fields) ?? []);

const isMarked = (block: Block): boolean =>
  markOf(block.type === 'native' ? block.value : block.extras?.fields) !== undefined ||
  (block.type === 'tool-result' && block.content.some(isMarked));

/** Whether the caller marked a prefix. */
export const hasMarks = ({ turns, ...rest }: GenerationRequest): boolean =>
  turns.some((turn) => markOf(turn.extras?.fields) !== undefined || turn.blocks.some(isMarked)) ||
  marksIn({ ...rest, turns: [] }).length > 0;

// --- forms ---

/** A target as far as caches are concerned. */
type Target = { to: UpstreamProtocolName; profile: Profile };

/** Whether a target is known to take a member of another protocol's caller. */
const takes = ({ cacheFields = [], cacheWithout = [] }: Profile, name: string): boolean =>
  cacheFields.some((field) => field === name) && !cacheWithout.includes(name);

/** A mark as the target takes it; undefined if it takes none. */
const formOf = ({ name, value }: Mark, { to, profile }: Target): Json | undefined => {
  const { cacheWithout = [] } = profile;
  const kept = Object.entries(value).filter(([member]) => !cacheWithout.includes(member));
  if (to === 'messages' ? name !== POINT : takes(profile, name)) {
    return cacheWithout.includes(name) ? undefined : { [name]: Object.fromEntries(kept) };
  }
  if (to === 'messages') return { cache_control: { type: 'ephemeral' } };
  return takes(profile, POINT) ? { [POINT]: { mode: 'explicit' } } : undefined;
};

/** The marks that the messages vendor allows; chat's reads any number of breakpoints. */
const MOST = 4;

/** Returns a function that gives the form of each mark in its order: of too many breakpoints the first and the last three. */
const createForms = (request: GenerationRequest, target: Target) => {
  let count: number | undefined;
  let index = -1;
  return (mark: Mark): Json | undefined => {
    if (mark.name !== POINT || target.to !== 'messages') return formOf(mark, target);
    index += 1;
    count ??= marksIn(request).filter(({ name }) => name === POINT).length;
    const isKept = count <= MOST || index === 0 || index > count - MOST;
    return isKept ? formOf(mark, target) : undefined;
  };
};

type Markable = Exclude<Block, { type: 'native' }>;

/** What protocols like chat state of an image. */
const detailOf = ({ image_url }: Json): Json => (image_url === undefined ? {} : { image_url });

const withForm = <B extends Markable>(block: B, form: Json, to: UpstreamProtocolName): B => {
  const { protocol = to, fields = {} } = block.extras ?? {};
  const { cache_control: _, [POINT]: __, ...own } = fields;
  // Of another protocol's fields no other than messages reads any.
  return to !== 'messages' && protocol !== to
    ? { ...block, extras: { protocol: to, fields: { ...detailOf(fields), ...form } } }
    : { ...block, extras: { protocol, fields: { ...own, ...form } } };
};

const onLast = (blocks: Block[], form: Json, to: UpstreamProtocolName): Block[] => {
  const last = blocks.at(-1);
  return !last || last.type === 'native' || markOf(last.extras?.fields)
    ? blocks
    : blocks.with(-1, withForm(last, form, to));
};

/** The request of another protocol's caller with its marks as the target takes them. */
export const withMarksFor = (request: GenerationRequest, target: Target): GenerationRequest => {
  const { to } = target;
  if (request.extras.protocol === to || !hasMarks(request)) return request;
  const form = createForms(request, target);
  const fitBlock = (block: Block): Block => {
    if (block.type === 'native') return block;
    const inner =
      block.type === 'tool-result' ? { ...block, content: block.content.map(fitBlock) } : block;
    const mark = markOf(block.extras?.fields);
    if (!mark) return inner;
    // Neither a call nor thinking is a part of them.
    const isPart = to === 'messages' || !['tool-call', 'thinking'].includes(inner.type);
    const wanted = (isPart && form(mark)) || {};
    // Their results have no breakpoint; the parts have.
    return to !== 'messages' && inner.type === 'tool-result'
      ? withForm({ ...inner, content: onLast(inner.content, wanted, to) }, {}, to)
      : withForm(inner, wanted, to);
  };
  const fitTurn = (turn: Turn): Turn => {
    const blocks = turn.blocks.map(fitBlock);
    const mark = markOf(turn.extras?.fields);
    return { ...turn, blocks: mark ? onLast(blocks, form(mark) ?? {}, to) : blocks };
  };
  return { ...request, turns: request.turns.map(fitTurn) };
};

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

// --- losses ---

/** Where a member about caches is: with the request's own members, on a part or message, on a tool, on a call or thinking. */
export type CachePlace = 'request' | 'part' | 'tool' | 'call';

/** Whether the owner of a mark is left out, or has no part for it. */
const isLeftOut = ({ type, text, content }: Json, to: UpstreamProtocolName): boolean =>
  to !== 'messages' ? type === 'tool_result' && !content?.toString() : isBlankText(text);

/** Returns a function that lists what a target does not get of a member: itself, as an empty name, or members of it. */
export const createCacheLosses = (request: GenerationRequest, target: Target) => {
  const { to, profile } = target;
  const form = createForms(request, target);
  return (place: CachePlace, name: string, value: unknown, owner: Json): string[] => {
    if (place === 'request') {
      return to !== 'messages' && name !== 'cache_control' && takes(profile, name) ? [] : [''];
    }
    const mark = markOf({ [name]: value });
    const sent = mark && form(mark);
    const hasPlace = place === 'part' || (to === 'messages' && name !== POINT);
    if (!sent || !hasPlace || isLeftOut(owner, to)) return [''];
    const members = { type: '', mode: '', ...asRecord(Object.values(sent)[0]) };
    return Object.keys(mark.value).filter((member) => !(member in members));
  };
};

type Path = Edit['path'];

/** What the members about caches are never in: values of the caller's own. */
const OPAQUE = ['input', 'input_schema', 'arguments', 'parameters', 'schema', 'metadata'];

/** Removes the members about caches that the target rejects from a request of its protocol. */
export const rejectedMembers = (wire: unknown, profile: Profile, path: Path = []): Edit[] => {
  const { cacheWithout = [] } = profile;
  if (cacheWithout.length === 0 || typeof wire !== 'object' || wire === null) return [];
  return Object.entries(wire).flatMap(([name, value]) => {
    const at = [...path, Array.isArray(wire) ? Number(name) : name];
    const isOfCaches = path.at(-1) === 'cache_control' || name.includes('cache');
    if (isOfCaches && cacheWithout.includes(name)) return [remove(at)];
    return OPAQUE.includes(name) ? [] : rejectedMembers(value, profile, at);
  });
};

/** What a request of the target's own protocol loses: what the target rejects, and marks in `turns` on texts that are left out. */
export const cacheLosses = (received: unknown, profile: Profile, turns: Turn[] = []): string[] => {
  const isBlank = (block: Block): boolean =>
    block.type === 'tool-result'
      ? block.content.some(isBlank)
      : block.type === 'text' && Boolean(markOf(block.extras?.fields)) && isBlankText(block.text);
  return [
    ...rejectedMembers(received, profile).map(({ path }) =>
      path
        .map((key) => (typeof key === 'number' ? '[]' : `.${key}`))
        .join('')
        .slice(1),
    ),
    ...(turns.some(({ blocks }) => blocks.some(isBlank))
      ? ['messages[].content[text].cache_control']
      : []),
  ];
};
