import type { Json } from '../protocols/bytes/json.ts';
import {
  type Begun,
  END,
  NAME,
  NEXT,
  NODE,
  type Nodes,
  OPEN_LIST,
  type Outline,
  START,
} from '../protocols/bytes/outline.ts';
import { keepItems } from '../support/memo.ts';

/*
 * An agent sends its whole conversation with each step, and its tools behind it, so that a body begins and ends as the one before it in
 * its session. What both have in common is not read again. The values of a body are kept if it is a next step, or if it is like others
 * that have none. Of the rest only the bytes are: most have no successor, and values that outlive their request cost a collection of the
 * old space.
 */

/** What is read of a body. Its values may be those of later bodies too, so nothing writes to them. */
export type Known = Pick<Outline, 'nodes' | 'places'> & { value: Json };

/** Members at the end of a known body: the node of the first, where its name begins in another body, and how far that is moved. */
export type Ended = { node: number; start: number; by: number };

/** What a body has in common with a known one: items of a list at its beginning, and members at its end. */
export type Overlap = {
  known: Known;
  begun: Begun | undefined;
  ended: Ended | undefined;
  /** Bytes between both. */
  added: number;
};

/** What is kept of a body: `raw` is its bytes in memory that has room for the next steps, `use` counts up with each use of a body. */
type Body = { keyId: string; raw: Buffer<ArrayBuffer>; known: Known | undefined; use: number };

/** A kept body that a received one is like. */
type Match = {
  body: Body;
  /** For how many bytes one begins as the other. */
  common: number;
  /** Whether at least half of the received one is in the other. */
  isAlike: boolean;
  /** Whether it is the next step of the other's session, whose place it takes. */
  isNext: boolean;
  overlap: Overlap | undefined;
};

/** The bodies of one key. */
export type Bodies = {
  match(raw: Buffer): Match | undefined;
  /** Keeps a body for the next step. `match`: what it was found to begin as. */
  keep(raw: Buffer, read: Known, match: Match | undefined): void;
};

/** Of all keys in one process, which may have 256 MB. What is known of a body takes two to three times as much as its bytes. */
const MAX_BYTES = 7_000_000;
const MAX_BODIES = 64;

const BLOCK = 16_384;

/** How many bytes are alike in two bodies, of `most`. `isLike`: whether those are that have so many before them, up to another number. */
const countAlike = (most: number, isLike: (from: number, to: number) => boolean): number => {
  let [from, size] = [0, BLOCK];
  while (from < most && size >= 1) {
    const to = Math.min(most, from + size);
    if (isLike(from, to)) from = to;
    else size /= 2;
  }
  return from;
};

const QUOTE = '"';

/** The last list of which two bodies have an item in common, and the whole items. Undefined if there is none. */
const begunOf = (raw: Buffer, { nodes, places }: Known, common: number): Begun | undefined => {
  const at = (node: number, offset: number): number => nodes[node + offset] ?? 0;
  let [list, members] = [0, 0];
  for (let node = NODE, index = 0; at(node, START) < common && node < nodes.length; index += 1) {
    const isBegun = at(node, NEXT) > node + NODE && at(node + NODE, END) < common;
    if (isBegun && raw[at(node, START)] === OPEN_LIST) [list, members] = [node, index];
    node = at(node, NEXT);
  }
  if (list === 0) return undefined;
  let [next, items, from] = [list + NODE, 0, 0];
  // A number would go on behind its end.
  for (; next < at(list, NEXT) && at(next, END) < common; items += 1) {
    from = at(next, END);
    next = at(next, NEXT);
  }
  const nameEnd = raw.lastIndexOf(QUOTE, at(list, START)) + 1;
  return {
    ...{ nodes: nodes.slice(0, next), places: places.filter(({ start }) => start < from) },
    ...{ from, list, nameEnd, items, members },
  };
};

/** Bytes at the end of two bodies that are worth finding. */
const MIN_TAIL = 2_048;

/** The members that are whole in the last `tail` bytes of a body, and behind `from` in another one that is longer by `by`. */
const endedOf = (
  { raw, known }: Body,
  tail: number,
  { from, by }: Record<'from' | 'by', number>,
) => {
  const nodes = known?.nodes ?? [];
  for (let node = NODE; node < nodes.length; node = nodes[node + NEXT] ?? nodes.length) {
    const start = nodes[node + NAME] ?? 0;
    if (start >= raw.length - tail && start + by >= from) return { node, start: start + by, by };
  }
  return undefined;
};

/** Bytes with which both begin. */
const commonOf = ({ raw: one }: Body, other: Buffer): number =>
  countAlike(
    Math.min(one.length, other.length),
    (from, to) => one.compare(other, from, to, from, to) === 0,
  );

const matchOf = (body: Body, raw: Buffer, common = commonOf(body, raw)): Match => {
  const [one, other] = [body.raw.length, raw.length];
  const least = Math.min(one, other);
  const tail = countAlike(
    least,
    (from, to) => body.raw.compare(raw, other - to, other - from, one - to, one - from) === 0,
  );
  const alike = Math.min(least, common + tail);
  const { known } = body;
  const begun = known && begunOf(body.raw, known, common);
  const from = begun?.from ?? 0;
  const ended = tail < MIN_TAIL ? undefined : endedOf(body, tail, { from, by: other - one });
  const added = (ended?.start ?? other) - from;
  const isNext = 8 * (known ? other - added : alike) > 7 * one;
  const overlap = known && 2 * added <= other ? { known, begun, ended, added } : undefined;
  return { body, common, isAlike: 2 * alike > other, isNext, overlap };
};

/** Room for the next steps, of the bytes of a body. */
const ROOM = 1.25;

/** Makes kept bytes those of `raw`, which are the same up to `from`: a received body that is kept would be garbage that lives long. */
const writeBytes = (kept: Buffer<ArrayBuffer>, raw: Buffer, from: number) => {
  const { length } = raw;
  const hasRoom = kept.buffer.byteLength >= length;
  const room = hasRoom ? kept.buffer : new ArrayBuffer(Math.ceil(length * ROOM));
  const bytes = Buffer.from(room, 0, length);
  raw.copy(bytes, hasRoom ? from : 0, hasRoom ? from : 0);
  return bytes;
};

const writeNodes = (kept: Nodes, nodes: Nodes): Nodes => {
  kept.length = Math.min(kept.length, nodes.length);
  for (let index = 0; index < nodes.length; index += 1) kept[index] = nodes[index] ?? 0;
  return kept;
};

const keepLists = (value: Json): void => {
  for (const list of Object.values(value)) if (Array.isArray(list)) keepItems(list);
};

const sizeOf = ({ raw }: Body): number => raw.buffer.byteLength;

/** Where a body of a key stands, or would, among bodies in the order of their keys and bytes. */
const placeOf = (bodies: Body[], keyId: string, raw: Buffer): number => {
  let [from, to] = [0, bodies.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const body = bodies[middle];
    if (!body) break;
    const isBefore = body.keyId === keyId ? body.raw.compare(raw) < 0 : body.keyId < keyId;
    if (isBefore) from = middle + 1;
    else to = middle;
  }
  return from;
};

export const createBodyCache = () => {
  /** In order, so that the one that begins most like another body is its neighbor: agents' bodies all begin with one prompt. */
  const bodies: Body[] = [];
  let uses = 0;
  const lastKnown = (keyId: string): Body | undefined =>
    bodies.reduce<Body | undefined>(
      (last, body) =>
        body.known && body.keyId === keyId && body.use > (last?.use ?? -1) ? body : last,
      undefined,
    );
  const forget = (body: Body) => bodies.splice(bodies.indexOf(body), 1);
  /** Forgets bodies until there is room for one more. Returns memory of one of them that is not much larger. */
  const makeRoom = (length: number): Buffer<ArrayBuffer> => {
    let room = Buffer.alloc(0);
    let size = bodies.reduce((sum, body) => sum + sizeOf(body), length * ROOM);
    while (bodies.length > 0 && (bodies.length >= MAX_BODIES || size > MAX_BYTES)) {
      const oldest = bodies.reduce((one, other) => (one.use < other.use ? one : other));
      forget(oldest);
      size -= sizeOf(oldest);
      if (sizeOf(oldest) < 2 * ROOM * length) room = oldest.raw;
    }
    return room;
  };
  return (keyId: string): Bodies => ({
    match: (raw) => {
      const place = placeOf(bodies, keyId, raw);
      const found = [bodies[place - 1], bodies[place]]
        .flatMap((body) => (body?.keyId === keyId ? [{ body, common: commonOf(body, raw) }] : []))
        .toSorted((one, other) => other.common - one.common);
      const [first] = found;
      const best = first && matchOf(first.body, raw, first.common);
      if (!best?.isAlike || best.overlap) return best;
      // The first step of a session ends as all steps of others.
      const last = lastKnown(keyId);
      return { ...best, overlap: last && matchOf(last, raw).overlap };
    },
    keep: (raw, { nodes, places, value }, match) => {
      const next = match?.isNext ? match : undefined;
      if (next) forget(next.body);
      const body = next?.body ?? { keyId, raw: makeRoom(raw.length), known: undefined, use: 0 };
      body.raw = writeBytes(body.raw, raw, next?.common ?? 0);
      if (next || (match?.isAlike && !match.overlap)) {
        keepLists(value);
        body.known = { nodes: writeNodes(body.known?.nodes ?? [], nodes), places, value };
      }
      body.use = uses;
      uses += 1;
      bodies.splice(placeOf(bodies, keyId, body.raw), 0, body);
    },
  });
};

export type BodyCache = ReturnType<typeof createBodyCache>;
