import {
  BLANK,
  CLASS_OF,
  CLASSES,
  DIGIT,
  HAN,
  HAN_TRADITIONAL,
  KANA,
  LETTER_OF,
  NEWLINE,
  SCRIPT,
  SIGN,
  UPPER,
} from './character-classes.ts';
import { BETWEEN_LETTERS, BETWEEN_SIGNS, LETTERS, SIGNS } from './split-chances.ts';

/** What is counted of a text; a family's weights (family-weights.ts) are in this order. */
const SCRIPTS = CLASSES - SCRIPT;
/** Words by lead (none, space, sign) and case (lower, Capital, CAPITALS, MIXed), then their letters. */
const WORDS = 0;
const LETTERS_OF_WORDS = WORDS + 12;
/** Words by how strange their language is, their letters, and the chances of a split in them. */
const LEVELS = 7;
const STRANGE_WORDS = LETTERS_OF_WORDS + 12;
const STRANGE_LETTERS = STRANGE_WORDS + LEVELS;
const STRANGE_SPLITS = STRANGE_LETTERS + LEVELS;
const CAPITAL_SPLITS = STRANGE_SPLITS + LEVELS;
/** Words among digits: hex, base64, ids. */
const RANDOM_WORDS = CAPITAL_SPLITS + 1;
const RANDOM_LETTERS = RANDOM_WORDS + 1;
const DIGIT_RUNS = RANDOM_LETTERS + 1;
const DIGITS = DIGIT_RUNS + 1;
const DIGIT_TRIPLES = DIGITS + 1;
const SPACED_DIGITS = DIGIT_TRIPLES + 1;
const SIGN_RUNS = SPACED_DIGITS + 1;
const SPACED_SIGNS = SIGN_RUNS + 1;
const SIGN_SPLITS = SPACED_SIGNS + 1;
const NEWLINE_RUNS = SIGN_SPLITS + 1;
const NEWLINES = NEWLINE_RUNS + 1;
/** A blank that no word takes up, and longer runs; the one before a script. */
const LONE_BLANKS = NEWLINES + 1;
const BLANK_RUNS = LONE_BLANKS + 1;
const BLANKS = BLANK_RUNS + 1;
const SPACED_SCRIPTS = BLANKS + 1;
const HAN_AMONG_KANA = SPACED_SCRIPTS + 1;
const SCRIPT_LETTERS = HAN_AMONG_KANA + 1;
const SCRIPT_RUNS = SCRIPT_LETTERS + SCRIPTS;
const FEATURES = SCRIPT_RUNS + SCRIPTS;

/** A loop: `Float32Array.from` a text costs each cold start 4 ms. */
const chancesOf = (digits: string): Float32Array => {
  const chances = new Float32Array(digits.length);
  for (let index = 0; index < digits.length; index += 1) {
    chances[index] = Number.parseInt(digits.charAt(index), 16) / 15;
  }
  return chances;
};
const LETTER_SPLIT = chancesOf(BETWEEN_LETTERS);
const SIGN_SPLIT = chancesOf(BETWEEN_SIGNS);

const SIGN_INDEX = new Uint8Array(128);
for (let code = 0, next = 0; code < 128; code += 1) {
  if (CLASS_OF[code] === SIGN) {
    SIGN_INDEX[code] = next;
    next += 1;
  }
}

const SPACE = 0x20;
/** Chance of a split at a letter, averaged over the last words, from which a language is as strange. */
const STRANGE_FROM = [0.075, 0.095, 0.13, 0.17, 0.21, 0.27];
const ENGLISH = 0.05;
/** Weight of one word in that average. */
const FADE = 0.05;

/** What is counted so far, and what the pieces before say about the next one. */
export type Scan = {
  counts: Float64Array;
  strange: number;
  level: number;
  /** Whether a digit or a lone letter was just before: then letters are hex, base64, an id, and no word. */
  isRandom: boolean;
  hasKana: boolean;
};

export const startScan = (): Scan => ({
  counts: new Float64Array(FEATURES),
  strange: ENGLISH,
  level: 0,
  isRandom: false,
  hasKana: false,
});

const count = (counts: Float64Array, feature: number, by = 1): void => {
  counts[feature] = (counts[feature] ?? 0) + by;
};

const isLatin = (code: number): boolean => LETTER_OF[code] !== 0;

/** False at the end: an array read at NaN would be slow from then on. */
const isLatinAt = (text: string, index: number): boolean =>
  index < text.length && isLatin(text.charCodeAt(index));

const levelOf = (strange: number): number => {
  let level = 0;
  while (level < STRANGE_FROM.length && strange >= (STRANGE_FROM[level] ?? 0)) level += 1;
  return level;
};

/** Counts a word of the language around it. */
const addPlain = (scan: Scan, length: number, splits: number): void => {
  const { counts } = scan;
  if (length > 2) {
    scan.strange += (splits / (length - 1) - scan.strange) * FADE;
    scan.level = levelOf(scan.strange);
  }
  count(counts, STRANGE_WORDS + scan.level);
  count(counts, STRANGE_LETTERS + scan.level, length);
  count(counts, STRANGE_SPLITS + scan.level, splits);
};

/** Lower case, Capital, CAPITALS or MIXed by the number of capitals that it begins with. */
const caseOf = (capitals: number, length: number): number => {
  if (capitals === 0) return 0;
  if (capitals === length) return length === 1 ? 1 : 2;
  return capitals === 1 ? 1 : 3;
};

/** Reads a word: capitals, then the small letters after them. Returns its end. */
const endOfWord = (text: string, from: number): { end: number; capitals: number } => {
  let end = from;
  while (end < text.length && CLASS_OF[text.charCodeAt(end)] === UPPER) end += 1;
  const capitals = end - from;
  while (end < text.length) {
    const code = text.charCodeAt(end);
    if (!isLatin(code) || CLASS_OF[code] === UPPER) break;
    end += 1;
  }
  return { end, capitals };
};

/** Counts its letters with marks. Returns the chances of a split between its letters. */
const addLetters = ({ counts }: Scan, text: string, from: number, end: number): number => {
  let splits = 0;
  let previous = 0;
  for (let index = from; index < end; index += 1) {
    const code = text.charCodeAt(index);
    const kind = CLASS_OF[code] ?? 0;
    if (kind >= SCRIPT) count(counts, SCRIPT_LETTERS + kind - SCRIPT);
    const letter = LETTER_OF[code] ?? 0;
    if (index > from) splits += LETTER_SPLIT[(previous - 1) * LETTERS + letter - 1] ?? 0;
    previous = letter;
  }
  return splits;
};

const addWord = (scan: Scan, text: string, from: number, lead: number): number => {
  const { counts } = scan;
  const { end, capitals } = endOfWord(text, from);
  const splits = addLetters(scan, text, from, end);
  const length = end - from;
  const wasRandom = scan.isRandom && lead === 0;
  const form = caseOf(capitals, length);
  scan.isRandom = length === 1 || form === 3 || (capitals === 1 && length === 2);
  if (wasRandom) {
    count(counts, RANDOM_WORDS);
    count(counts, RANDOM_LETTERS, length);
    return end;
  }
  const kind = (lead === 0 ? 0 : lead === SPACE ? 4 : 8) + form;
  count(counts, WORDS + kind);
  count(counts, LETTERS_OF_WORDS + kind, length);
  if (form < 2) addPlain(scan, length, splits);
  else count(counts, CAPITAL_SPLITS, splits);
  return end;
};

const addScript = (scan: Scan, text: string, from: number, first: number, lead: number): number => {
  const { counts } = scan;
  scan.isRandom = false;
  if (lead === SPACE) count(counts, SPACED_SCRIPTS);
  let index = from;
  let kind = first;
  count(counts, SCRIPT_RUNS + first - SCRIPT);
  let hasKana = false;
  let han = 0;
  while (kind >= SCRIPT && !isLatin(text.charCodeAt(index))) {
    count(counts, SCRIPT_LETTERS + kind - SCRIPT);
    if (kind === KANA) hasKana = true;
    if (kind === HAN || kind === HAN_TRADITIONAL) han += 1;
    index += 1;
    if (index === text.length) break;
    kind = CLASS_OF[text.charCodeAt(index)] ?? 0;
  }
  if (hasKana) scan.hasKana = true;
  else if (han > 8) scan.hasKana = false;
  if (scan.hasKana) count(counts, HAN_AMONG_KANA, han);
  return index;
};

const addSigns = (scan: Scan, text: string, from: number, lead: number): number => {
  const { counts } = scan;
  scan.isRandom = false;
  let index = from + 1;
  let previous = SIGN_INDEX[text.charCodeAt(from)] ?? 0;
  let splits = 0;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (CLASS_OF[code] !== SIGN) break;
    const sign = SIGN_INDEX[code] ?? 0;
    splits += SIGN_SPLIT[previous * SIGNS + sign] ?? 0;
    previous = sign;
  }
  if (lead === SPACE) count(counts, SPACED_SIGNS);
  else if (index - from > 1 || !isLatinAt(text, index)) count(counts, SIGN_RUNS);
  count(counts, SIGN_SPLITS, splits);
  return index;
};

const addDigits = (scan: Scan, text: string, from: number, lead: number): number => {
  const { counts } = scan;
  scan.isRandom = true;
  let index = from + 1;
  while (index < text.length && CLASS_OF[text.charCodeAt(index)] === DIGIT) index += 1;
  if (lead === SPACE) count(counts, SPACED_DIGITS);
  count(counts, DIGIT_RUNS);
  count(counts, DIGITS, index - from);
  count(counts, DIGIT_TRIPLES, Math.ceil((index - from) / 3));
  return index;
};

/** Counts new lines, or blanks; the last blank belongs to the piece after it. */
const addBlanks = (scan: Scan, text: string, from: number, kind: number): number => {
  const { counts } = scan;
  scan.isRandom = false;
  let index = from + 1;
  while (index < text.length && CLASS_OF[text.charCodeAt(index)] === kind) index += 1;
  const length = index - from;
  if (kind === NEWLINE) {
    count(counts, NEWLINE_RUNS);
    count(counts, NEWLINES, length);
  }
  if (kind !== BLANK) return index;
  const next = index < text.length ? (CLASS_OF[text.charCodeAt(index)] ?? 0) : 0;
  if (length > 1) {
    count(counts, BLANK_RUNS);
    count(counts, BLANKS, length);
  } else if (next <= BLANK) count(counts, LONE_BLANKS);
  return index;
};

const addPiece = (scan: Scan, text: string, from: number, lead: number): number => {
  const code = text.charCodeAt(from);
  if (isLatin(code)) return addWord(scan, text, from, lead);
  const kind = CLASS_OF[code] ?? 0;
  if (kind >= SCRIPT) return addScript(scan, text, from, kind, lead);
  if (kind === SIGN) return addSigns(scan, text, from, lead);
  if (kind === DIGIT) return addDigits(scan, text, from, lead);
  return addBlanks(scan, text, from, kind);
};

/** Reads a text once, in time linear in its length. A sign or blank alone before a word is its lead. */
export const scanText = (scan: Scan, text: string): void => {
  let lead = 0;
  let index = 0;
  scan.isRandom = false;
  while (index < text.length) {
    const next = addPiece(scan, text, index, lead);
    const last = text.charCodeAt(next - 1);
    const kind = CLASS_OF[last];
    lead = kind === BLANK || (kind === SIGN && next === index + 1 && lead === 0) ? last : 0;
    index = next;
  }
};
