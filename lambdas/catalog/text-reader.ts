import { createKinds } from './character-classes.ts';
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
  /** The state of the automaton, as its row of cells. */
  row: number;
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

/** Of a thousandth of a token. */
const SIXTEENTHS = 16;

/** A kind (character-classes.ts) is a class, and above it a unit. */
const CLASS = 0x3f;
const UNIT = 0xfc0;
const UNIT_BITS = 6;

/**
 * A cell is the steps over two characters: in its low bits the row of the state after them, above it their weight, and as its
 * sign whether the second is plain. It is 0 until it is needed; so are all cells of row 0. The rows are enough for the states of
 * ten vocabularies.
 */
const ROW_BITS = 8;
const ROW = 0xff;
/** Of a sum of weights; above it the signs of the cells are counted, to no use. */
const WEIGHT = 0x7f_ffff;

/** The cells of all vocabularies, by the classes of two characters and the row of the state before them. */
const createCells = () => {
  const steps = createSteps();
  const cells = new Int32Array(1 << (2 * UNIT_BITS + ROW_BITS));
  const vocabularies: Weights[] = [];

  /** The row of the state in which a text begins. */
  const startOf = (weights: Weights): number => {
    if (!vocabularies.includes(weights)) vocabularies.push(weights);
    return 1 + STATES.length * vocabularies.indexOf(weights);
  };

  const createCell = (place: number): number => {
    const row = place & ROW;
    const state = (row - 1) % STATES.length;
    const weights = vocabularies[Math.floor((row - 1) / STATES.length)] ?? [];
    const weigh = (step: number) =>
      Math.round(SIXTEENTHS * (weights[steps.feature[step] ?? 0] ?? 0));
    const first = state * COLUMNS + (place >>> (UNIT_BITS + ROW_BITS));
    const between = steps.next[first] ?? 0;
    const second = (between & ~CLASS) | ((place >>> ROW_BITS) & CLASS);
    const next = steps.next[second] ?? 0;
    const nextRow = row - state + (next >> UNIT_BITS);
    return (next << 31) | ((weigh(first) + weigh(second)) << ROW_BITS) | nextRow;
  };

  return { cells, startOf, createCell };
};

/** Characters after which the level follows the language. */
const CHUNK = MAX_SUMMED;

/** Adds what steps count: their weight, and the chances of splits, of which every other one was looked up. */
const addSteps = (reading: Reading, weight: number, sum: number): void => {
  const { weights, level } = reading;
  const weigh = (feature: number, count: number) => (weights[feature] ?? 0) * count;
  const pairs = 2 * ((sum >>> PAIR) & 0xff);
  const splits = (2 * (sum & 0xfff)) / CERTAIN;
  const signSplits = (2 * (sum >>> SIGN)) / CERTAIN;
  reading.tokens +=
    weight / SIXTEENTHS +
    weigh(PAIRS + level, pairs) +
    weigh(PAIR_SPLITS + level, splits) +
    weigh(SIGN_SPLITS, signSplits);
  if (pairs === 0) return;
  reading.strange += ((splits / pairs - reading.strange) * pairs) / (pairs + CHUNK);
  reading.level = levelOf(reading.strange);
};

/** Characters that are read from a buffer: the codes of an array are read faster than those of a string. */
const PIECE = 2_048;
const codes = new Uint16Array(PIECE + 2);
const twos = new Int32Array(codes.buffer);
const bytes = Buffer.from(codes.buffer);

/**
 * Two characters are one step, and the chance of a split between them stands for two. The loop of `addTwos` calls no
 * function, and its constants are of this file: compiled, it is then twice as fast.
 */
const createReader = () => {
  const kinds = createKinds();
  const splits = createSplits();
  const { cells, startOf, createCell } = createCells();

  /** Reads what is in the buffer between two places; false if a cell is missing. */
  const addTwos = (reading: Reading, from: number, end: number): boolean => {
    let { row } = reading;
    let weight = 0;
    let sum = 0;
    for (let index = from | 0; index < (end | 0); index += 1) {
      const two = twos[index] ?? 0;
      const first = kinds[two & 0xffff] ?? 0;
      const second = kinds[two >>> 16] ?? 0;
      const classes = ((first & CLASS) << UNIT_BITS) | (second & CLASS);
      const cell = cells[(classes << ROW_BITS) | row] ?? 0;
      weight = (weight + (cell >>> ROW_BITS)) | 0;
      sum = (sum + ((splits[(first & UNIT) | (second >> UNIT_BITS)] ?? 0) & (cell >> 31))) | 0;
      row = cell & ROW;
    }
    if (row === 0) return false;
    reading.row = row;
    addSteps(reading, weight & WEIGHT, sum);
    return true;
  };

  const fillCells = (start: number, from: number, end: number) => {
    let row = start;
    for (let index = 2 * from; index < 2 * end; index += 2) {
      const first = (kinds[codes[index] ?? 0] ?? 0) & CLASS;
      const second = (kinds[codes[index + 1] ?? 0] ?? 0) & CLASS;
      const place = (((first << UNIT_BITS) | second) << ROW_BITS) | row;
      cells[place] ||= createCell(place);
      row = (cells[place] ?? 0) & ROW;
    }
  };

  const readPiece = (reading: Reading, piece: string) => {
    bytes.write(piece, 'utf16le');
    codes[piece.length] = 0;
    const size = Math.ceil(piece.length / 2);
    for (let from = 0; from < size; from += CHUNK / 2) {
      const end = Math.min(size, from + CHUNK / 2);
      if (addTwos(reading, from, end)) continue;
      fillCells(reading.row, from, end);
      addTwos(reading, from, end);
    }
  };
  return { startOf, readPiece };
};
/** It is made for the first text, so that no cold start waits for its tables. */
let reader: ReturnType<typeof createReader> | undefined;

export const startReading = (weights: Weights): Reading => {
  reader ??= createReader();
  const row = reader.startOf(weights);
  return { weights, row, tokens: 0, strange: ENGLISH, level: levelOf(ENGLISH) };
};

/** Reads a part of a text once, in time linear in its length. */
export const read = (reading: Reading, text: string): void => {
  for (let from = 0; from < text.length; from += PIECE) {
    reader?.readPiece(reading, text.slice(from, from + PIECE));
  }
};
