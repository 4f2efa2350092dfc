import { oncePer } from '../support/memo.ts';
import { createKinds } from './character-classes.ts';
import { bytesOfWeights, type Weights } from './families.ts';
import {
  CERTAIN,
  CHANCE,
  COST,
  createSplits,
  PAIR,
  PAIR_MASK,
  SIGN,
  withCosts,
} from './split-chances.ts';
import {
  COLUMNS,
  createSteps,
  LETTER_COSTS,
  LEVELS,
  PAIR_SPLITS,
  PAIRS,
  SIGN_SPLITS,
  STATES,
} from './text-automaton.ts';

/** What a family's texts are read with. */
type Vocabulary = {
  /** Thousandths of a token for each feature of a text (text-automaton.ts, in its order). */
  readonly weights: readonly number[];
  /** By two letters or signs (split-chances.ts). */
  readonly splits: Int32Array;
  /** The state of the automaton at the start of a text, as its row of cells. */
  readonly start: number;
};

/** What is known after a part of a text. */
export type Reading = Vocabulary & {
  /** Thousandths of a token. */
  tokens: number;
  /** That of the state after it. */
  row: number;
  /** Characters that are read whole; half of those after them are. */
  whole: number;
  /** Characters that were read, and of how many times as many what is read is a sample. */
  place: number;
  times: number;
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

/** The classes and the units of two kinds (character-classes.ts). */
const CLASS_BITS = 6;
const CLASS = 0x3f;
const CLASSES = 0xf_ff00;
const UNITS = 20;

/**
 * A cell is the steps over two characters: in its low bits the row of the state after them, above it their weight, and as its
 * sign whether the second is plain. It is 0 until it is needed; so are all cells of row 0. The rows are enough for the states of
 * ten vocabularies.
 */
const ROW_BITS = 8;
const ROW = 0xff;
/** Of a sum of cells: the weights. Below them the rows are summed up, less than one of a weight's sixteenths for each. */
const WEIGHTS = 0x7fff_ffff;

/** The cells of all vocabularies, by the classes of two characters and the row of the state before them. */
const createCells = () => {
  const steps = createSteps();
  const cells = new Int32Array(1 << (2 * CLASS_BITS + ROW_BITS));
  const splits = createSplits();
  const vocabularies: Vocabulary[] = [];

  const vocabularyOf = oncePer(new Map<Weights, Vocabulary>(), (name) => {
    const start = 1 + STATES.length * vocabularies.length;
    if (start + STATES.length - 1 > ROW) throw new RangeError('no rows for another vocabulary');
    const bytes = bytesOfWeights(name);
    const own = withCosts(splits, bytes.subarray(steps.features));
    const weights = Array.from(bytes.subarray(0, steps.features), (root) => root ** 2 / 16);
    const vocabulary = { weights, splits: own, start };
    vocabularies.push(vocabulary);
    return vocabulary;
  });

  const createCell = (place: number): number => {
    const row = place & ROW;
    const state = (row - 1) % STATES.length;
    const { weights = [] } = vocabularies[Math.floor((row - 1) / STATES.length)] ?? {};
    const weigh = (step: number) =>
      Math.round(SIXTEENTHS * (weights[steps.feature[step] ?? 0] ?? 0));
    const first = state * COLUMNS + (place >>> (CLASS_BITS + ROW_BITS));
    const between = steps.next[first] ?? 0;
    const second = (between & ~CLASS) | ((place >>> ROW_BITS) & CLASS);
    const next = steps.next[second] ?? 0;
    const nextRow = row - state + (next >> CLASS_BITS);
    return (next << 31) | ((weigh(first) + weigh(second)) << ROW_BITS) | nextRow;
  };

  return { cells, vocabularyOf, createCell };
};

/** Characters of which two are read at once; the level follows the language after both. */
const HALF = 64;
const BOTH = 2 * HALF;
const HALF_STEPS = HALF / 2;
const BOTH_STEPS = HALF;

/** Adds what steps count: their weight, and the chances of splits, each of which stands for so many. */
const addSteps = (reading: Reading, weight: number, sum: number, alike: number): void => {
  const { weights, level } = reading;
  const chance = alike / CERTAIN;
  const splits = (sum & CHANCE) * chance;
  const signSplits = ((sum >>> SIGN) & CHANCE) * chance;
  const pairs = ((sum >>> PAIR) & PAIR_MASK) * alike;
  reading.tokens +=
    reading.times *
    (weight / SIXTEENTHS +
      (weights[PAIRS + level] ?? 0) * pairs +
      (weights[PAIR_SPLITS + level] ?? 0) * splits +
      (weights[SIGN_SPLITS] ?? 0) * signSplits +
      (weights[LETTER_COSTS] ?? 0) * alike * (sum >>> COST));
  if (pairs === 0) return;
  reading.strange += (splits - reading.strange * pairs) / (pairs + BOTH);
  reading.level = levelOf(reading.strange);
};

/** Characters that are read from a buffer: the codes of an array are read faster than those of a string. */
const PIECE = 4_096;
const codes = new Uint16Array(PIECE);
const twos = new Int32Array(codes.buffer);
const bytes = Buffer.from(codes.buffer);
/** Characters of a text that are written faster one by one. */
const SHORT = 32;

/** Writes a text that the buffer has room for. */
const write = (text: string, at: number): void => {
  if (text.length > SHORT) bytes.write(text, 2 * at, 'utf16le');
  else
    for (let index = 0; index < text.length; index += 1) codes[at + index] = text.charCodeAt(index);
};

/**
 * Two characters are one step. Each waits for the one before, so two halves are read at once; the state at the start of the
 * second is that after the last step before it. Chances of a split are looked up within the steps of the first half. The loop
 * of `addHalves` calls no function, and its constants are of this file: compiled, it is then twice as fast.
 */
const createReader = () => {
  const kinds = createKinds();
  const { cells, vocabularyOf, createCell } = createCells();

  /** The row after a step of the buffer. */
  const rowAfter = (index: number, row: number): number => {
    const two = twos[index] ?? 0;
    const kind = ((kinds[two & 0xffff] ?? 0) << CLASS_BITS) | (kinds[two >>> 16] ?? 0);
    return (cells[(kind & CLASSES) | row] ?? 0) & ROW;
  };

  /** Reads two halves, so far apart, of the steps that are left; false if a cell is missing. */
  const addHalves = (reading: Reading, from: number, left: number, gap: number): boolean => {
    const end = (from + Math.min(left, HALF_STEPS)) | 0;
    const { splits } = reading;
    let { row } = reading;
    let otherRow = rowAfter(from + gap - 1, reading.start);
    let weight = 0;
    let sum = 0;
    for (let index = from | 0; index < end; index += 1) {
      const two = twos[index] ?? 0;
      const other = twos[(index + gap) | 0] ?? 0;
      const kind = ((kinds[two & 0xffff] ?? 0) << CLASS_BITS) | (kinds[two >>> 16] ?? 0);
      const otherKind = ((kinds[other & 0xffff] ?? 0) << CLASS_BITS) | (kinds[other >>> 16] ?? 0);
      const cell = cells[(kind & CLASSES) | row] ?? 0;
      const otherCell = cells[(otherKind & CLASSES) | otherRow] ?? 0;
      weight = (weight + cell + otherCell) | 0;
      sum = (sum + ((splits[kind >>> UNITS] ?? 0) & (cell >> 31))) | 0;
      row = cell & ROW;
      otherRow = otherCell & ROW;
    }
    if (row * otherRow === 0) return false;
    reading.row = otherRow;
    // Two for each, and as many in the second half.
    const others = Math.min(HALF_STEPS, Math.max(0, left - gap));
    const alike = 2 + (2 * others) / HALF_STEPS;
    addSteps(reading, (weight & WEIGHTS) >>> ROW_BITS, sum, alike);
    return true;
  };

  const fillCells = (start: number, from: number, steps: number) => {
    let row = start;
    for (let index = from; index < from + steps; index += 1) {
      const two = twos[index] ?? 0;
      const kind = ((kinds[two & 0xffff] ?? 0) << CLASS_BITS) | (kinds[two >>> 16] ?? 0);
      const place = (kind & CLASSES) | row;
      cells[place] ||= createCell(place);
      row = (cells[place] ?? 0) & ROW;
    }
  };

  /** Reads so many characters of the buffer, or half of them. */
  const readBuffer = (reading: Reading, size: number) => {
    codes.fill(0, size, size + 2 * BOTH);
    const end = (size + 1) >> 1;
    for (let from = 0; from < end; from += reading.times * BOTH_STEPS) {
      reading.times = reading.place + 2 * from < reading.whole ? 1 : 2;
      const gap = reading.times * HALF_STEPS;
      // The middle of what it is a sample of.
      const at = from + (gap - HALF_STEPS) / 2;
      if (at >= end || addHalves(reading, at, end - at, gap)) continue;
      fillCells(reading.row, at, HALF_STEPS);
      fillCells(reading.start, at + gap - 1, 1 + HALF_STEPS);
      addHalves(reading, at, end - at, gap);
    }
    reading.place += size;
  };
  return { vocabularyOf, readBuffer };
};
/** It is made for the first text, so that no cold start waits for its tables. */
let reader: ReturnType<typeof createReader> | undefined;

export const startReading = (name: Weights, whole: number): Reading => {
  reader ??= createReader();
  const { weights, splits, start } = reader.vocabularyOf(name);
  // A literal without spread: it is made for each kind of text of a request.
  const level = levelOf(ENGLISH);
  return {
    weights,
    splits,
    start,
    row: start,
    whole,
    place: 0,
    times: 1,
    tokens: 0,
    strange: ENGLISH,
    level,
  };
};

/**
 * Reads texts once, in time linear in their length. NUL counts as nothing, and nothing is split or joined across it: it ends
 * each of texts that are apart, whose next one then begins a step of two.
 */
export const read = (reading: Reading, texts: string[], areApart: boolean): void => {
  let size = 0;
  for (const text of texts) {
    for (let from = 0; from < text.length; ) {
      const part = text.slice(from, from + PIECE - size);
      write(part, size);
      from += part.length;
      size += part.length;
      if (size < PIECE) continue;
      reader?.readBuffer(reading, size);
      size = 0;
    }
    if (!areApart) continue;
    codes[size] = 0;
    codes[size + 1] = 0;
    size += 2 - (size % 2);
    if (size < PIECE) continue;
    reader?.readBuffer(reading, size);
    size = 0;
  }
  if (size > 0) reader?.readBuffer(reading, size);
};
