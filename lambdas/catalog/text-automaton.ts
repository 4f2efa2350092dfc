import {
  BLANK,
  CLASS_BITS,
  CLASSES,
  DIGIT,
  HAN,
  HAN_TRADITIONAL,
  KANA,
  LATIN,
  LOWER,
  NEWLINE,
  SCRIPT,
  TAB,
  UPPER,
} from './character-classes.ts';

/** What the characters that were read are part of. */
export const STATES = [
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
export const LEVELS = 7;

/** What is counted of a text; a family's weights (families.ts) are in this order, the steps last. */
export const PAIRS = 0;
export const PAIR_SPLITS = PAIRS + LEVELS;
export const SIGN_SPLITS = PAIR_SPLITS + LEVELS;
export const LETTER_COSTS = SIGN_SPLITS + 1;
const HAN_AMONG_KANA = LETTER_COSTS + 1;
const SCRIPT_LETTERS = HAN_AMONG_KANA + 1;
const SCRIPT_RUNS = SCRIPT_LETTERS + SCRIPTS;
const STEPS = SCRIPT_RUNS + SCRIPTS;

/** Of the table of steps: a row for each state, a column for each class of characters. */
export const COLUMNS = 1 << CLASS_BITS;

/** What the step over a character leads to and counts, by its cell; that over the end of a text counts nothing. */
export type Steps = {
  /** The next state's row, and in bit 0 whether the character and the one before are in a plain word or in a run of signs. */
  next: Uint16Array;
  feature: Uint16Array;
  /** How many there are. */
  features: number;
};
const NO_FEATURE = 0xffff;

const nextCell = (state: State): number => {
  const isPlain = isWord(state) || state === 'Capital2' || state === 'signs';
  return STATES.indexOf(state) * COLUMNS + (isPlain ? 1 : 0);
};

const groupOf = (state: State): string => {
  if (state === 'start') return 'newline';
  if (isDigit(state)) return 'digit';
  return isWord(state) && state !== 'word1' ? 'word' : state;
};

/** The ends of numbers are counted together, and those of long words. */
const nameOf = (state: State, kind: number): string => {
  const isGrouped = state === 'start' || (kind !== LOWER && kind !== DIGIT);
  return `${isGrouped ? groupOf(state) : state} ${kind}`;
};

/** Adds the steps of a state over the classes of scripts. */
const addScripts = ({ next, feature }: Steps, state: State): void => {
  const row = STATES.indexOf(state) * COLUMNS;
  const base = state.startsWith('space') ? SCRIPT_RUNS : SCRIPT_LETTERS;
  next.fill(nextCell(state === 'kana' ? 'kana' : 'script'), row + SCRIPT, row + CLASSES);
  for (let script = 0; script < SCRIPTS; script += 1)
    feature[row + SCRIPT + script] = base + script;
  const lower = afterLower(state);
  const lowerCell = nextCell(lower);
  const lowerFeature = feature[row + LOWER] ?? NO_FEATURE;
  for (const kind of LATIN) {
    next[row + kind] = lowerCell;
    feature[row + kind] = lower === 'word1' ? lowerFeature : SCRIPT_LETTERS + kind - SCRIPT;
  }
  next[row + KANA] = nextCell('kana');
  if (state !== 'kana') return;
  feature[row + HAN] = HAN_AMONG_KANA;
  feature[row + HAN_TRADITIONAL] = HAN_AMONG_KANA;
};

/** Returns the steps of the automaton that reads a text: few and plain, since the first request of a process waits for them. */
export const createSteps = (): Steps => {
  const size = STATES.length * COLUMNS;
  const feature = new Uint16Array(size).fill(NO_FEATURE);
  const steps = { next: new Uint16Array(size), feature, features: 0 };
  const features = new Map<string, number>();
  const featureOf = (name: string): number => {
    const known = features.get(name) ?? STEPS + features.size;
    features.set(name, known);
    return known;
  };
  for (const [index, state] of STATES.entries()) {
    for (let kind = NEWLINE; kind < SCRIPT; kind += 1) {
      const cell = index * COLUMNS + kind;
      steps.next[cell] = nextCell(after(state, kind));
      steps.feature[cell] = featureOf(nameOf(state, kind));
    }
    addScripts(steps, state);
  }
  steps.features = STEPS + features.size;
  return steps;
};
