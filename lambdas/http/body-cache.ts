import { asArray, type Json } from '../protocols/bytes/json.ts';
import {
  type Begun,
  END,
  NEXT,
  NODE,
  type Nodes,
  OPEN_LIST,
  type Outline,
  START,
} from '../protocols/bytes/outline.ts';
import { isShared, share } from '../support/memo.ts';
import { isRecord } from '../support/objects.ts';

/*
 * An agent sends its whole conversation with each step, so that a body begins as the one before it in its session. What is known
 * of that beginning is not read again. Of a body that is the first to begin so only the bytes are kept: most have no successor,
 * and values that outlive their request cost a collection of the old space.
 */

/** What is read of a body. Its values may be those of later bodies too, so nothing writes to them. */
export type Known = Pick<Outline, 'nodes' | 'places'> & { value: Json };

/** What a body has in common with a known one. */
export type Prefix = { known: Known; begun: Begun };

/** What is kept of a body: `raw` is its bytes in memory that has room for the next steps, `use` counts up with each use of a body. */
type Body = { keyId: string; raw: Buffer<ArrayBuffer>; known: Known | undefined; use: number };

/** The kept body that a received one begins as, for so many bytes. */
type Match = { body: Body; common: number };

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

/** How many bytes two bodies begin with alike. */
const commonLength = (one: Buffer, other: Buffer): number => {
  const most = Math.min(one.length, other.length);
  let [from, size] = [0, BLOCK];
  while (from < most && size >= 1) {
    const to = Math.min(most, from + size);
    if (one.compare(other, from, to, from, to) === 0) from = to;
    else size /= 2;
  }
  return from;
};

const QUOTE = '"';

/** What a body of `size` bytes has in common with the one that it begins as; undefined if that is less than half of it. */
export const prefixOf = (
  { body: { raw, known }, common }: Match,
  size: number,
): Prefix | undefined => {
  if (!known) return undefined;
  const { nodes, places } = known;
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
  if (2 * from < size) return undefined;
  const nameEnd = raw.lastIndexOf(QUOTE, at(list, START)) + 1;
  const begun = {
    ...{ nodes: nodes.slice(0, next), places: places.filter(({ start }) => start < from) },
    ...{ from, list, nameEnd, items, members },
  };
  return { known, begun };
};

/** Room for the next steps, of the bytes of a body. */
const ROOM = 1.25;

/** Makes kept bytes those of `raw`, which begins alike: a received body that is kept would be garbage that lives long. */
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

/** Marks the items of its lists; those of earlier bodies, which come first, are marked. */
const shareItems = (value: Json): void => {
  for (const member of Object.values(value)) {
    const items = asArray(member);
    for (let index = items.length - 1; index >= 0; index -= 1) {
      const item = items[index];
      if (!isRecord(item)) continue;
      if (isShared(item)) break;
      share(item);
    }
  }
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
      let best: Match | undefined;
      for (const body of [bodies[place - 1], bodies[place]]) {
        if (body?.keyId !== keyId) continue;
        const common = commonLength(body.raw, raw);
        if (common > (best?.common ?? raw.length / 2)) best = { body, common };
      }
      return best;
    },
    keep: (raw, { nodes, places, value }, match) => {
      const isNext = match && 8 * match.common > 7 * match.body.raw.length;
      const kept = isNext ? match.body : undefined;
      if (kept) forget(kept);
      const body = kept ?? { keyId, raw: makeRoom(raw.length), known: undefined, use: 0 };
      body.raw = writeBytes(body.raw, raw, isNext ? match.common : 0);
      if (match) {
        shareItems(value);
        body.known = { nodes: writeNodes(body.known?.nodes ?? [], nodes), places, value };
      }
      body.use = uses;
      uses += 1;
      bodies.splice(placeOf(bodies, keyId, body.raw), 0, body);
    },
  });
};

export type BodyCache = ReturnType<typeof createBodyCache>;
