import type { Raw } from '../../support/bytes.ts';

/** A number that JavaScript would write in another way, by the way to it from the outermost value. */
export type Place = {
  /** Of each level: where the name of the member begins and ends; of an item -1 minus its index, twice. */
  steps: [number, number][];
  start: number;
  end: number;
};

export type Limits = { depth: number; members: number; values: number };

/** Those of a text of any size; no walk survives more levels. */
export const FREE: Limits = { depth: 1_000, members: Infinity, values: Infinity };

/**
 * The values of a text in their order, `NODE` numbers each, at these offsets: where the name of a member begins, -1 for an
 * item; where the value begins and ends; and where the numbers of the first value after it begin that is not in it.
 */
export type Nodes = number[];
export const NODE = 4;
export const [NAME, START, END, NEXT] = [0, 1, 2, 3];

/** What one pass shows of a JSON text that need not be parsed yet. */
export type Outline = {
  places: Place[];
  nodes: Nodes;
  /** The limit that ended the pass. */
  exceeded?: keyof Limits;
};

/** What is known of the beginning of a text: up to `from`, behind an item of a list in its outermost object. */
export type Begun = Pick<Outline, 'places' | 'nodes'> & {
  from: number;
  /** The list's node, where its name ends, how many of its items are known, and of the members before it. */
  list: number;
  nameEnd: number;
  items: number;
  members: number;
};

/** How many members the objects have whose values are from a node on. */
export const namesIn = (nodes: Nodes, from = 0): number => {
  let count = 0;
  for (let node = from; node < nodes.length; node += NODE)
    if (nodes[node + NAME] !== -1) count += 1;
  return count;
};

/** Of one text: more of them take more time than their spelling is worth. */
const MAX_PLACES = 100_000;

/** An integer of so many digits has one spelling, unless it is minus zero. */
const SAFE_DIGITS = 15;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BACKSLASH = 0x5c;
const NUMBER = /[-+.\deE]*/y;
const WORD = /[a-z]*/y;
const PLAIN = /^(?:[1-9]\d*|0|-[1-9]\d*)$/;

const endOf = (pattern: RegExp, text: string, start: number): number => {
  pattern.lastIndex = start;
  pattern.test(text);
  return pattern.lastIndex;
};

const isSpelledSo = (source: string): boolean =>
  source.length <= SAFE_DIGITS && PLAIN.test(source) ? true : String(Number(source)) === source;

const nothing = (): Begun => ({
  ...{ nodes: [], places: [], from: 0, list: 0, nameEnd: 0, items: 1, members: 0 },
});

/** The levels that are open at a place of a text. */
const createLevels = (limits: Limits, begun: Begun | undefined) => {
  const { nodes, places, list, nameEnd: listNamed, members, items } = begun ?? nothing();
  /** Of each: its node, how many commas it has so far, and where the name of its member begins, -1 in a list, and ends. */
  const opened = [0, 0, list];
  const commas = [0, members, items - 1];
  const nameAt = [-1, nodes[list + NAME] ?? -1, -1];
  const nameEnd = [-1, listNamed, -1];
  /** Whether the next string of an object is a name. */
  const isNaming = [false, false, false];
  let depth = begun ? 2 : 0;

  const leaf = (start: number, end: number): void => {
    nodes.push(nameAt[depth] ?? -1, start, end, nodes.length + NODE);
  };
  /** Returns whether the level is one too many. */
  const open = (index: number, isObject: boolean): boolean => {
    const node = nodes.length;
    leaf(index, index);
    depth += 1;
    if (depth > limits.depth) return true;
    opened[depth] = node;
    commas[depth] = 0;
    nameAt[depth] = -1;
    isNaming[depth] = isObject;
    return false;
  };
  const close = (index: number): void => {
    const node = opened[depth] ?? 0;
    nodes[node + END] = index + 1;
    nodes[node + NEXT] = nodes.length;
    depth = Math.max(0, depth - 1);
  };
  const comma = (): void => {
    commas[depth] = (commas[depth] ?? 0) + 1;
    // A level with a name is an object.
    if (nameAt[depth] !== -1) isNaming[depth] = true;
  };
  const colon = (): keyof Limits | undefined => {
    isNaming[depth] = false;
    return (commas[depth] ?? 0) >= limits.members ? 'members' : undefined;
  };

  return {
    string: (start: number, end: number): void => {
      if (isNaming[depth]) {
        nameAt[depth] = start;
        nameEnd[depth] = end;
      } else leaf(start, end);
    },
    number: (source: string, start: number, end: number): void => {
      leaf(start, end);
      if (isSpelledSo(source) || places.length >= MAX_PLACES) return;
      const steps = Array.from({ length: depth }, (_, level): [number, number] => {
        const at = nameAt[level + 1] ?? 0;
        const item = -1 - (commas[level + 1] ?? 0);
        return at >= 0 ? [at, nameEnd[level + 1] ?? 0] : [item, item];
      });
      places.push({ steps, start, end });
    },
    word: leaf,
    /** Returns the limit that the sign exceeds. */
    sign: (code: number, index: number): keyof Limits | undefined => {
      switch (code) {
        case COMMA:
          comma();
          break;
        case COLON:
          return colon();
        case OPEN_OBJECT:
        case OPEN_LIST:
          if (open(index, code === OPEN_OBJECT)) return 'depth';
          break;
        case CLOSE_OBJECT:
        case CLOSE_LIST:
          close(index);
          break;
        default:
      }
      return nodes.length > limits.values * NODE ? 'values' : undefined;
    },
    outline: (): Outline => ({ places, nodes }),
  };
};

const isNumber = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2d;
const isLetter = (code: number): boolean => code >= 0x61 && code <= 0x7a;

/** Index of the quote that closes a string whose content begins at `from`; the text's end if none does. */
const endOfString = (text: string, from: number): number => {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let start = quote;
    while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    // Escaped by an odd number of backslashes.
    if ((quote - start) % 2 === 0) return quote;
  }
  return text.length;
};

/** Where the string, the number or the word ends that begins at a place; a sign has no end. */
const endOfToken = (code: number, text: string, start: number): number | undefined => {
  if (code === QUOTE) return endOfString(text, start + 1) + 1;
  if (isNumber(code)) return endOf(NUMBER, text, start);
  return isLetter(code) ? endOf(WORD, text, start) : undefined;
};

type Levels = ReturnType<typeof createLevels>;

/** A part of a text, and where it begins. */
type Part = { text: string; from: number; isLast: boolean };

/** Reads a part up to a token that may go on behind it. Returns how much it read, or the limit that was exceeded. */
const readPart = ({ text, from, isLast }: Part, levels: Levels): number | keyof Limits => {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const end = endOfToken(code, text, index);
    if (end === undefined) {
      const exceeded = levels.sign(code, from + index);
      if (exceeded !== undefined) return exceeded;
      continue;
    }
    if (end >= text.length && !isLast) return index;
    if (code === QUOTE) levels.string(from + index, from + end);
    else if (isLetter(code)) levels.word(from + index, from + end);
    else levels.number(text.slice(index, end), from + index, from + end);
    index = end - 1;
  }
  return text.length;
};

/** Bytes that are read as one text: a larger one gets new pages, which the system takes longer to clear than to copy. */
const PART = 65_536;

/** Reads a text without recursion, up to the first limit that it exceeds, from what is known of it on. The text may be no JSON. */
export const outlineOf = (raw: Raw, limits: Limits, begun?: Begun): Outline => {
  const levels = createLevels(limits, begun);
  const isText = typeof raw === 'string';
  let size = isText ? raw.length : PART;
  for (let from = begun?.from ?? 0; ; ) {
    const isLast = from + size >= raw.length;
    // Each byte is a character: those of JSON's signs are in no other character of UTF-8.
    const text = isText ? raw.slice(from) : raw.toString('latin1', from, from + size);
    const read = readPart({ text, from, isLast }, levels);
    if (typeof read === 'string') return { ...levels.outline(), exceeded: read };
    if (isLast) return levels.outline();
    // A string that fills the part is read again with more behind it.
    size = read === 0 ? 2 * size : PART;
    from += read;
  }
};
