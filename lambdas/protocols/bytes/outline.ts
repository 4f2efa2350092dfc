import { endOfString } from './strings.ts';

/** A number that JavaScript would write in another way, by the way to it from the outermost value. */
export type Place = {
  /** Of each level: where the name of the member begins, or -1 minus the index of the item. */
  steps: number[];
  start: number;
  end: number;
};

export type Limits = { depth: number; members: number; values: number };

/** What one pass shows of a JSON text that need not be parsed yet. */
export type Outline = {
  /** How many names of members it has. */
  names: number;
  places: Place[];
  /** The limit that ended the pass. */
  exceeded?: keyof Limits;
};

/** Of one text: more of them take more time than their spelling is worth. */
const MAX_PLACES = 100_000;

/** An integer of so many digits has one spelling, unless it is minus zero. */
const SAFE_DIGITS = 15;

const QUOTE = 0x22;
const NUMBER = /[-+.\deE]*/y;
const PLAIN = /^(?:[1-9]\d*|0|-[1-9]\d*)$/;

const endOfNumber = (text: string, start: number): number => {
  NUMBER.lastIndex = start;
  NUMBER.test(text);
  return NUMBER.lastIndex;
};

const isSpelledSo = (source: string): boolean =>
  source.length <= SAFE_DIGITS && PLAIN.test(source) ? true : String(Number(source)) === source;

/** The levels that are open at a place of a text. */
const createLevels = (limits: Limits) => {
  /** Of each: how many commas it has so far, and where the name of its member begins; -1 in a list. */
  const commas = new Uint32Array(limits.depth + 2);
  const nameAt = new Int32Array(limits.depth + 2);
  let [depth, values, names] = [0, 0, 0];
  return {
    /** `string`: where the last string begins. Returns the limit that the character exceeds. */
    read: (character: string | undefined, string: number): keyof Limits | undefined => {
      switch (character) {
        // A comma or an opening bracket announces at least one value, unless the brackets are empty.
        case ',':
          values += 1;
          commas[depth] = (commas[depth] ?? 0) + 1;
          break;
        case '{':
        case '[':
          values += 1;
          depth += 1;
          if (depth > limits.depth) return 'depth';
          commas[depth] = 0;
          nameAt[depth] = -1;
          break;
        case ':':
          names += 1;
          nameAt[depth] = string;
          return (commas[depth] ?? 0) >= limits.members ? 'members' : undefined;
        case '}':
        case ']':
          depth -= 1;
          break;
        default:
      }
      return values > limits.values ? 'values' : undefined;
    },
    names: () => names,
    steps: (): number[] =>
      Array.from({ length: depth }, (_, level) => {
        const at = nameAt[level + 1] ?? 0;
        return at >= 0 ? at : -1 - (commas[level + 1] ?? 0);
      }),
  };
};

const isNumber = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2d;

/** Reads a text without recursion, up to the first limit that it exceeds. The text may be no JSON. */
export const outlineOf = (text: string, limits: Limits): Outline => {
  const levels = createLevels(limits);
  const places: Place[] = [];
  let string = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      string = index;
      index = endOfString(text, index + 1);
    } else if (isNumber(code)) {
      const end = endOfNumber(text, index);
      const isKept = isSpelledSo(text.slice(index, end)) || places.length >= MAX_PLACES;
      if (!isKept) places.push({ steps: levels.steps(), start: index, end });
      index = end - 1;
    } else {
      const exceeded = levels.read(text[index], string);
      if (exceeded !== undefined) return { names: levels.names(), places, exceeded };
    }
  }
  return { names: levels.names(), places };
};
