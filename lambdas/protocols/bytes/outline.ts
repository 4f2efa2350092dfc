import { endOfString } from './strings.ts';

/** A number that JavaScript would write in another way, by the way to it from the outermost value. */
export type Place = {
  /** Of each level: where the name of the member begins, or -1 minus the index of the item. */
  steps: number[];
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
  /** How many names of members it has. */
  names: number;
  places: Place[];
  nodes: Nodes;
  /** The limit that ended the pass. */
  exceeded?: keyof Limits;
};

/** Of one text: more of them take more time than their spelling is worth. */
const MAX_PLACES = 100_000;

/** An integer of so many digits has one spelling, unless it is minus zero. */
const SAFE_DIGITS = 15;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
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

/** The levels that are open at a place of a text. */
const createLevels = (limits: Limits) => {
  const nodes: Nodes = [];
  const places: Place[] = [];
  /** Of each: its node, how many commas it has so far, and where the name of its member begins; -1 in a list. */
  const opened = [0];
  const commas = [0];
  const nameAt = [-1];
  /** Whether the next string of an object is a name. */
  const isNaming = [false];
  let [depth, values, names] = [0, 0, 0];

  const leaf = (start: number, end: number): void => {
    nodes.push(nameAt[depth] ?? -1, start, end, nodes.length + NODE);
  };
  // A comma or an opening bracket announces at least one value, unless the brackets are empty.
  /** Returns whether the level is one too many. */
  const open = (index: number, isObject: boolean): boolean => {
    const node = nodes.length;
    values += 1;
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
    values += 1;
    commas[depth] = (commas[depth] ?? 0) + 1;
    // A level with a name is an object.
    if (nameAt[depth] !== -1) isNaming[depth] = true;
  };
  const colon = (): keyof Limits | undefined => {
    names += 1;
    isNaming[depth] = false;
    return (commas[depth] ?? 0) >= limits.members ? 'members' : undefined;
  };

  return {
    string: (start: number, end: number): void => {
      if (isNaming[depth]) nameAt[depth] = start;
      else leaf(start, end);
    },
    number: (text: string, start: number, end: number): void => {
      leaf(start, end);
      if (isSpelledSo(text.slice(start, end)) || places.length >= MAX_PLACES) return;
      const steps = Array.from({ length: depth }, (_, level) => {
        const at = nameAt[level + 1] ?? 0;
        return at >= 0 ? at : -1 - (commas[level + 1] ?? 0);
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
      return values > limits.values ? 'values' : undefined;
    },
    outline: (): Outline => ({ names, places, nodes }),
  };
};

const isNumber = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2d;
const isLetter = (code: number): boolean => code >= 0x61 && code <= 0x7a;

/** Reads a text without recursion, up to the first limit that it exceeds. The text may be no JSON. */
export const outlineOf = (text: string, limits: Limits): Outline => {
  const levels = createLevels(limits);
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = endOfString(text, index + 1);
      levels.string(index, end + 1);
      index = end;
    } else if (isNumber(code)) {
      const end = endOf(NUMBER, text, index);
      levels.number(text, index, end);
      index = end - 1;
    } else if (isLetter(code)) {
      const end = endOf(WORD, text, index);
      levels.word(index, end);
      index = end - 1;
    } else {
      const exceeded = levels.sign(code, index);
      if (exceeded !== undefined) return { ...levels.outline(), exceeded };
    }
  }
  return levels.outline();
};
