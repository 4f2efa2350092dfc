import { CLASS, createKinds, UNIT, UNIT_BITS } from './character-classes.ts';
import { CERTAIN, createSplits, MAX_SUMMED, PAIR, SIGN } from './split-chances.ts';
import {
  COLUMNS,
  createSteps,
  LEVELS,
  PAIR_SPLITS,
  PAIRS,
  SIGN_SPLITS,
  STATES,
} from './text-automaton.ts';

/** Thousandths of a token for each feature of a text (text-automaton.ts, in its order). */
export type Weights = readonly number[];

/** What is known after a part of a text. */
export type Reading = {
  readonly weights: Weights;
  /** Thousandths of a token. */
  tokens: number;
  /** The state of the automaton, as its row of cells; that in which a text begins. */
  row: number;
  readonly start: number;
  /** How often the language's letters split, and its level by that. */
  strange: number;
  level: number;
};

/** Chances of a split from which a language is of the next level. */
const STRANGE_FROM = [0.075, 0.095, 0.13, 0.17, 0.21, 0.27];
const ENGLISH = 0.05;
const levelOf = (strange: number): number => {
  let level = 0;
  while (level < LEVELS - 1 && strange >= (STRANGE_FROM[level] ?? 0)) level += 1;
  return level;
};

/** A cell has in bit 0 whether its step is plain, then the row of the next state, then the step's weight. */
const MAX_ROWS = 512;
const ROWS = (MAX_ROWS - 1) * COLUMNS;
const WEIGHT_BITS = 15;
/** Of a thousandth of a token. */
const SIXTEENTHS = 16;

/** Classes of ASCII have three bits; those of two characters are above the chance of a split between them. */
const ASCII_BITS = 3;
const CLASSES_FROM = 26;
const CHANCE = (1 << CLASSES_FROM) - 1;

/** By the codes of two ASCII characters, that of the second in the high byte. */
const createPairs = (kinds: Uint16Array, splits: Int32Array): Int32Array => {
  const pairs = new Int32Array(1 << 15);
  for (let second = 0; second < 0x80; second += 1) {
    const after = kinds[second] ?? 0;
    for (let first = 0; first < 0x80; first += 1) {
      const before = kinds[first] ?? 0;
      const classes = ((before & CLASS) << ASCII_BITS) | (after & CLASS);
      const chance = splits[(before & UNIT) | (after >> UNIT_BITS)] ?? 0;
      pairs[(second << 8) | first] = (classes << CLASSES_FROM) | chance;
    }
  }
  return pairs;
};

/** The tables of all vocabularies that were needed until now: `single` by a class, `double` by two of ASCII. */
const createTables = () => {
  const steps = createSteps();
  const single = new Int32Array(MAX_ROWS * COLUMNS);
  const double = new Int32Array(MAX_ROWS * COLUMNS);
  const rows = new Map<Weights, number>();

  const addSingle = (start: number, weights: Weights) => {
    for (let cell = 0; cell < steps.next.length; cell += 1) {
      const weight = Math.round(SIXTEENTHS * (weights[steps.feature[cell] ?? 0] ?? 0));
      single[start + cell] = (weight << WEIGHT_BITS) | (start + (steps.next[cell] ?? 0));
    }
  };

  const addDouble = (start: number) => {
    for (let row = start; row < start + STATES.length * COLUMNS; row += COLUMNS) {
      for (let classes = 0; classes < COLUMNS; classes += 1) {
        const first = single[row | (classes >> ASCII_BITS)] ?? 0;
        const second = single[(first & ROWS) | (classes & ((1 << ASCII_BITS) - 1))] ?? 0;
        double[row | classes] = second + ((first >>> WEIGHT_BITS) << WEIGHT_BITS);
      }
    }
  };

  /** The row of the state in which a text begins. */
  const startOf = (weights: Weights): number => {
    const known = rows.get(weights);
    if (known !== undefined) return known;
    const start = rows.size * STATES.length * COLUMNS;
    rows.set(weights, start);
    addSingle(start, weights);
    addDouble(start);
    return start;
  };

  return { single, double, startOf };
};

/** Characters after which the level follows the language. */
const CHUNK = MAX_SUMMED;

/** Adds what steps count: their weights, and the chances of splits, of which only one in `oneIn` was looked up. */
const addSteps = (reading: Reading, weighed: number, sum: number, oneIn: number): void => {
  const { weights, level } = reading;
  const weigh = (feature: number, count: number) => (weights[feature] ?? 0) * count;
  const pairs = oneIn * ((sum >>> PAIR) & 0xff);
  const splits = (oneIn * (sum & 0xfff)) / CERTAIN;
  const signSplits = (oneIn * (sum >>> SIGN)) / CERTAIN;
  reading.tokens +=
    weighed / SIXTEENTHS +
    weigh(PAIRS + level, pairs) +
    weigh(PAIR_SPLITS + level, splits) +
    weigh(SIGN_SPLITS, signSplits);
  if (pairs === 0) return;
  reading.strange += ((splits / pairs - reading.strange) * pairs) / (pairs + CHUNK);
  reading.level = levelOf(reading.strange);
};

/** Characters that are read from a buffer: the codes of an array are read faster than those of a string. */
const PIECE = 2_048;
const buffer = Buffer.alloc(2 * PIECE);
const codes = new Uint16Array(buffer.buffer, buffer.byteOffset, PIECE);

/** Reads so many characters of the buffer. */
type PieceReader = (reading: Reading, length: number) => void;

/**
 * Two characters of ASCII are one step, and the chance of a split between them stands for two. Tables are constants of
 * the function: compiled, it is a third faster than with arguments.
 */
const createAsciiReader = (pairs: Int32Array, double: Int32Array): PieceReader => {
  return (reading, length) => {
    const size = (length + 1) >> 1;
    let { row } = reading;
    for (let from = 0; from < size; from += CHUNK / 2) {
      const end = Math.min(size, from + CHUNK / 2);
      let weighed = 0;
      let sum = 0;
      for (let index = from; index < end; index += 1) {
        const pair = pairs[codes[index] ?? 0] ?? 0;
        const cell = double[row | (pair >>> CLASSES_FROM)] ?? 0;
        weighed += cell >>> WEIGHT_BITS;
        sum += pair & CHANCE & -(cell & 1);
        row = cell & ROWS;
      }
      addSteps(reading, weighed, sum, 2);
    }
    reading.row = row;
  };
};

const createAnyReader = (
  kinds: Uint16Array,
  splits: Int32Array,
  single: Int32Array,
): PieceReader => {
  return (reading, length) => {
    let { row } = reading;
    let previous = 0;
    for (let from = 0; from < length; from += CHUNK) {
      const end = Math.min(length, from + CHUNK);
      let weighed = 0;
      let sum = 0;
      for (let index = from; index < end; index += 1) {
        const kind = kinds[codes[index] ?? 0] ?? 0;
        const cell = single[row | (kind & CLASS)] ?? 0;
        weighed += cell >>> WEIGHT_BITS;
        sum += (splits[previous | (kind >> UNIT_BITS)] ?? 0) & -(cell & 1);
        row = cell & ROWS;
        previous = kind & UNIT;
      }
      addSteps(reading, weighed, sum, 1);
    }
    reading.row = row;
  };
};

const createReader = () => {
  const kinds = createKinds();
  const splits = createSplits();
  const { single, double, startOf } = createTables();
  const readAscii = createAsciiReader(createPairs(kinds, splits), double);
  const readAny = createAnyReader(kinds, splits, single);
  const readPiece = (reading: Reading, piece: string) => {
    const { length } = piece;
    // UTF-8 has one byte for each character of ASCII, and more for every other.
    if (buffer.write(piece) === length) {
      buffer[length] = 0;
      readAscii(reading, length);
    } else {
      buffer.write(piece, 'utf16le');
      readAny(reading, length);
    }
  };
  return { startOf, readPiece };
};
/** It is made for the first text, so that no cold start waits for its tables. */
let reader: ReturnType<typeof createReader> | undefined;

export const startReading = (weights: Weights): Reading => {
  reader ??= createReader();
  const start = reader.startOf(weights);
  return { weights, start, row: start, tokens: 0, strange: ENGLISH, level: levelOf(ENGLISH) };
};

/** Reads a part of a text once, in time linear in its length. */
export const read = (reading: Reading, text: string): void => {
  for (let from = 0; from < text.length; from += PIECE) {
    reader?.readPiece(reading, text.slice(from, from + PIECE));
  }
};
