import {
  BLANK,
  CLASS,
  CLASSES,
  createKinds,
  DIGIT,
  FIRST_SIGN,
  HAN,
  HAN_TRADITIONAL,
  KANA,
  LATIN,
  LOWER,
  NEWLINE,
  NONE,
  SCRIPT,
  TAB,
  UNIT,
  UNIT_BITS,
  UPPER,
} from './character-classes.ts';
import { BETWEEN_LETTERS, BETWEEN_SIGNS, LETTERS, SIGNS } from './split-chances.ts';

/**
 * A text is read by an automaton, because that costs the same few instructions for each character: its state is what
 * the characters before are part of. Each step from a state over a class of characters counts one feature.
 */
const STATES = [
  'start',
  'newline',
  'space',
  'spaces',
  'tab',
  // A sign alone is part of the word after it.
  'sign',
  'signs',
  // Three digits are a token at most vendors.
  'digit1',
  'digit2',
  'digit3',
  'script',
  'kana',
  // Small letters, or one capital before them.
  'word1',
  'word2',
  'word3',
  'word4',
  'word5',
  'word6',
  'word7',
  'word8',
  'Capital1',
  'Capital2',
  'CAPITALS',
  'MIXed',
  // Letters among digits, or of changing case: hex, base64, ids.
  'random',
] as const;
type State = (typeof STATES)[number];

const isWord = (state: State): boolean => state.startsWith('word');
const isDigit = (state: State): boolean => state.startsWith('digit');

const afterUpper = (state: State): State => {
  if (state === 'Capital1' || state === 'CAPITALS') return 'CAPITALS';
  const isRandom = ['word1', 'Capital2', 'MIXed', 'random'].includes(state) || isDigit(state);
  return isRandom ? 'random' : 'Capital1';
};

const afterLower = (state: State): State => {
  if (isWord(state)) return `word${Math.min(8, Number(state.slice(4)) + 1)}` as State;
  if (state === 'Capital1') return 'Capital2';
  if (state === 'Capital2') return 'word3';
  if (state === 'CAPITALS' || state === 'MIXed') return 'MIXed';
  return state === 'random' || isDigit(state) ? 'random' : 'word1';
};

const after = (state: State, kind: number): State => {
  switch (kind) {
    case NEWLINE:
      return 'newline';
    case BLANK:
      return state === 'space' || state === 'spaces' ? 'spaces' : 'space';
    case TAB:
      return 'tab';
    case DIGIT:
      return state === 'digit1' ? 'digit2' : state === 'digit2' ? 'digit3' : 'digit1';
    case UPPER:
      return afterUpper(state);
    case LOWER:
      return afterLower(state);
    default:
      return ['space', 'spaces', 'tab', 'sign', 'signs'].includes(state) ? 'signs' : 'sign';
  }
};

const SCRIPTS = CLASSES - SCRIPT;
/** Languages by how often their words split. */
const LEVELS = 7;

/** What is counted of a text; a family's weights (families.ts) are in this order, the steps last. */
const PAIRS = 0;
const PAIR_SPLITS = PAIRS + LEVELS;
const SIGN_SPLITS = PAIR_SPLITS + LEVELS;
const HAN_AMONG_KANA = SIGN_SPLITS + 1;
const SCRIPT_LETTERS = HAN_AMONG_KANA + 1;
const SCRIPT_RUNS = SCRIPT_LETTERS + SCRIPTS;
const STEPS = SCRIPT_RUNS + SCRIPTS;
/** The end of a text, which counts nothing. */
const IGNORED = 511;

const steps = new Map<string, number>();

const groupOf = (state: State): string => {
  if (state === 'start') return 'newline';
  if (isDigit(state)) return 'digit';
  return isWord(state) && state !== 'word1' ? 'word' : state;
};

/** The feature of a step. The ends of numbers are counted together, and those of long words. */
const stepOf = (state: State, kind: number): number => {
  const isGrouped = state === 'start' || (kind !== LOWER && kind !== DIGIT);
  const name = `${isGrouped ? groupOf(state) : state} ${kind}`;
  const feature = steps.get(name) ?? STEPS + steps.size;
  steps.set(name, feature);
  return feature;
};

const STATE_BITS = 6;
/** Cells of a state, one for each class. */
const ROW = 1 << STATE_BITS;
const ROWS = 31 << STATE_BITS;
/** The feature is above the row. */
const FEATURE_BITS = 11;
/** The pair of characters that ends here is in a plain word or in a run of signs. */
const IS_PLAIN = -0x8000_0000;

/** What a character does in a state: the next state, and the feature that is counted. */
const cellOf = (next: State, feature: number): number => {
  const isPlain = isWord(next) || next === 'Capital2' || next === 'signs';
  const row = STATES.indexOf(next) * ROW;
  return row | (feature << FEATURE_BITS) | (isPlain ? IS_PLAIN : 0);
};

/** The cells of a state for the classes of scripts. */
const fillScripts = (cells: Int32Array, row: number, state: State): void => {
  const lower = afterLower(state);
  const first = cellOf('word1', stepOf(state, LOWER));
  const base = state.startsWith('space') ? SCRIPT_RUNS : SCRIPT_LETTERS;
  const other = state === 'kana' ? 'kana' : 'script';
  for (let script = 0; script < SCRIPTS; script += 1) {
    cells[row + SCRIPT + script] = cellOf(other, base + script);
  }
  for (const kind of LATIN) {
    cells[row + kind] = lower === 'word1' ? first : cellOf(lower, SCRIPT_LETTERS + kind - SCRIPT);
  }
  cells[row + KANA] = cellOf('kana', base + KANA - SCRIPT);
  if (state !== 'kana') return;
  cells[row + HAN] = cellOf('kana', HAN_AMONG_KANA);
  cells[row + HAN_TRADITIONAL] = cellOf('kana', HAN_AMONG_KANA);
};

const createCells = (): Int32Array => {
  const cells = new Int32Array(STATES.length * ROW);
  for (const [index, state] of STATES.entries()) {
    const row = index * ROW;
    cells[row + NONE] = cellOf('start', IGNORED);
    for (let kind = NEWLINE; kind < SCRIPT; kind += 1) {
      cells[row + kind] = cellOf(after(state, kind), stepOf(state, kind));
    }
    fillScripts(cells, row, state);
  }
  return cells;
};

/** The numbers of four bits in a text of base64. */
const nibblesOf = (text: string): Buffer => {
  const digits = Buffer.from(text, 'base64').toString('hex');
  return Buffer.from(digits.replace(/./g, '0$&'), 'hex');
};

/** Chances in fifteenths: of letters in the low bits with a one above them, of signs in the high bits. */
const createSplits = (): Int32Array => {
  const splits = new Int32Array(ROW * ROW);
  const fill = (text: string, size: number, from: number, cellFor: (chance: number) => number) => {
    const chances = nibblesOf(text);
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column < size; column += 1) {
        const cell = cellFor(chances[row * size + column] ?? 0);
        splits[(from + row) * ROW + from + column] = cell;
      }
    }
  };
  fill(BETWEEN_LETTERS, LETTERS, 1, (chance) => chance | (1 << 12));
  fill(BETWEEN_SIGNS, SIGNS, FIRST_SIGN, (chance) => chance << 20);
  return splits;
};

/** Chance of a split at a letter from which a language is as strange. */
const STRANGE_FROM = [0.075, 0.095, 0.13, 0.17, 0.21, 0.27];
const ENGLISH = 0.05;
const levelOf = (strange: number): number => {
  let level = 0;
  while (level < STRANGE_FROM.length && strange >= (STRANGE_FROM[level] ?? 0)) level += 1;
  return level;
};

/** Characters after which the level follows the language; the sums of so many fit in 32 bits. */
const CHUNK = 128;

/** A text's UTF-16 codes: an array of them is read faster than a string. */
const codesOf = (text: string): Uint16Array => {
  const { buffer, byteOffset } = Buffer.from(text, 'utf16le');
  return new Uint16Array(buffer, byteOffset, text.length);
};

export const createFeatures = (): Float64Array => new Float64Array(IGNORED + 1);

type Reader = (features: Float64Array, text: string, weight: number) => void;

const addCounts = (features: Float64Array, counts: Int32Array, weight: number): void => {
  const end = STEPS + steps.size;
  for (let feature = SIGN_SPLITS + 1; feature < end; feature += 1) {
    features[feature] = (features[feature] ?? 0) + (counts[feature] ?? 0) * weight;
  }
};

/** The tables are constants of the function that it returns: compiled, it is a fifth faster than with arguments. */
const createReader = (): Reader => {
  const kinds = createKinds();
  const cells = createCells();
  const splits = createSplits();
  /** All zero between two texts; an integer is counted faster than the features are. */
  const counts = new Int32Array(IGNORED + 1);
  return (features, text, weight) => {
    const codes = codesOf(text);
    const add = (feature: number, times: number) => {
      features[feature] = (features[feature] ?? 0) + times * weight;
    };
    let row = 0;
    let previous = 0;
    let strange = ENGLISH;
    let level = 0;
    for (let from = 0; from < codes.length; from += CHUNK) {
      const end = Math.min(codes.length, from + CHUNK);
      let sums = 0;
      for (let index = from; index < end; index += 1) {
        const kind = kinds[codes[index] ?? 0] ?? 0;
        const cell = cells[row | (kind & CLASS)] ?? 0;
        const feature = (cell >>> FEATURE_BITS) & IGNORED;
        counts[feature] = (counts[feature] ?? 0) + 1;
        sums += (splits[previous | (kind >> UNIT_BITS)] ?? 0) & (cell >> 31);
        row = cell & ROWS;
        previous = kind & UNIT;
      }
      const chances = (sums & 0xfff) / 15;
      const pairs = (sums >>> 12) & 0xff;
      add(PAIRS + level, pairs);
      add(PAIR_SPLITS + level, chances);
      add(SIGN_SPLITS, (sums >>> 20) / 15);
      if (pairs === 0) continue;
      strange += ((chances / pairs - strange) * pairs) / (pairs + CHUNK);
      level = levelOf(strange);
    }
    addCounts(features, counts, weight);
    counts.fill(0);
  };
};
/** It is made for the first text, so that no cold start waits for its tables. */
let reader: Reader | undefined;

/** Reads a text once, in time linear in its length, and adds what it counts, times `weight`. */
export const addFeatures: Reader = (features, text, weight) => {
  reader ??= createReader();
  reader(features, text, weight);
};
