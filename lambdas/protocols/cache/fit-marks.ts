/** What callers state about caches, from one protocol's form to another's, and marks of the router (docs/prompt-caches.md). */
import { isBlankText } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, set } from '../bytes/splice.ts';
import type { Block, GenerationRequest, Turn } from '../generation.ts';
import type { CacheLife, Profile } from '../profile.ts';
import type { UpstreamProtocolName } from '../protocol-name.ts';
import { hasMarks, type Mark, markOf, marksIn, POINT, takes } from './members.ts';

/** A target as far as caches are concerned. */
type Target = { to: UpstreamProtocolName; profile: Profile };

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

// --- the router's marks ---

type Path = Edit['path'];

/** Whether the vendor takes a mark on a block. */
const isMarkable = (block: unknown): boolean => {
  const { type, text } = asRecord(block) ?? {};
  return type !== 'thinking' && type !== 'redacted_thinking' && !isBlankText(text);
};

/** Marks the end of a text, which becomes a block, or the last block that can be marked. */
const markEnd = (content: unknown, path: Path, mark: Json): Edit[] => {
  const text = asString(content);
  if (text !== undefined) {
    return isBlankText(text) ? [] : [set(path, [{ type: 'text', text, cache_control: mark }])];
  }
  const last = asArray(content).findLastIndex(isMarkable);
  return last === -1 ? [] : [set([...path, last, 'cache_control'], mark)];
};

/** Of the turns of the user: the one before the last begins where the last request ended. */
const MARKED_TURNS = 2;

const latestOfUser = (messages: unknown[]): number[] => {
  const found: number[] = [];
  for (let index = messages.length - 1; index >= 0 && found.length < MARKED_TURNS; index -= 1) {
    if (asRecord(messages[index])?.role === 'user') found.unshift(index);
  }
  return found;
};

/** Marks the ends of tools, of the system prompt and of the last turns of the user in an encoded messages request. */
export const marksOf = ({ tools, system, messages }: Json, life: CacheLife): Edit[] => {
  const mark = { type: 'ephemeral', ...(life === '5m' ? {} : { ttl: life }) };
  return [
    ...markEnd(tools, ['tools'], mark),
    ...markEnd(system, ['system'], mark),
    ...latestOfUser(asArray(messages)).flatMap((index) =>
      markEnd(asRecord(asArray(messages)[index])?.content, ['messages', index, 'content'], mark),
    ),
  ];
};
