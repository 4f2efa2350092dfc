import {
  BLANK,
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
const HAN_AMONG_KANA = SIGN_SPLITS + 1;
const SCRIPT_LETTERS = HAN_AMONG_KANA + 1;
const SCRIPT_RUNS = SCRIPT_LETTERS + SCRIPTS;
const STEPS = SCRIPT_RUNS + SCRIPTS;

/** The reading of a character. `isPlain`: it and the one before are in a plain word or in a run of signs. */
export type Step = { next: State; feature: number | undefined; isPlain: boolean };

const stepTo = (next: State, feature: number | undefined): Step => {
  const isPlain = isWord(next) || next === 'Capital2' || next === 'signs';
  return { next, feature, isPlain };
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

/** The steps of a state over the classes of scripts. */
const addScripts = (row: Step[], state: State): void => {
  const lower = afterLower(state);
  const base = state.startsWith('space') ? SCRIPT_RUNS : SCRIPT_LETTERS;
  const other = state === 'kana' ? 'kana' : 'script';
  for (let script = 0; script < SCRIPTS; script += 1) {
    row[SCRIPT + script] = stepTo(other, base + script);
  }
  for (const kind of LATIN) {
    const first = row[LOWER];
    if (lower !== 'word1' || !first) row[kind] = stepTo(lower, SCRIPT_LETTERS + kind - SCRIPT);
    else row[kind] = first;
  }
  row[KANA] = stepTo('kana', base + KANA - SCRIPT);
  if (state !== 'kana') return;
  row[HAN] = stepTo('kana', HAN_AMONG_KANA);
  row[HAN_TRADITIONAL] = stepTo('kana', HAN_AMONG_KANA);
};

/**
 * The automaton that reads a text: from each state, in their order, the step over each class of characters. Each counts
 * one feature, but that over the end of a text.
 */
export const createSteps = (): Step[][] => {
  const features = new Map<string, number>();
  const featureOf = (name: string): number => {
    const feature = features.get(name) ?? STEPS + features.size;
    features.set(name, feature);
    return feature;
  };
  return STATES.map((state) => {
    const row = [stepTo('start', undefined)];
    for (let kind = NEWLINE; kind < SCRIPT; kind += 1) {
      row[kind] = stepTo(after(state, kind), featureOf(nameOf(state, kind)));
    }
    addScripts(row, state);
    return row;
  });
};
