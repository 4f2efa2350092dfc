/** The class of each UTF-16 code, and of which scripts the features of a text count letters. */

/** Between two texts; counts nothing. */
const NONE = 0;
export const NEWLINE = 1;
export const BLANK = 2;
export const DIGIT = 3;
export const UPPER = 4;
export const LOWER = 5;
const SIGN = 6;
/** All that is blank, but the space. */
export const TAB = 7;
/** The first script: the row below, added to it. */
export const SCRIPT = 8;

/** First code of each row; a row ends where the next begins. Letters with marks are part of Latin words. */
const ROWS = [
  0x0080, // signs of Latin 1
  0x00c0, // é ñ ã: French, Spanish, Portuguese
  0x0100, // ą č ğ ő: Polish, Czech, Turkish, Hungarian
  0x01a0, // ơ ư: Vietnamese
  0x01b1, // rare Latin letters, marks to combine
  0x0370, // Greek
  0x0400, // Cyrillic
  0x0452, // і ї є: what Ukrainian has and Russian lacks
  0x0460, // ә қ ң: Kazakh and others
  0x0530, // Armenian
  0x0590, // Hebrew
  0x0600, // Arabic
  0x0671, // letters of Persian, Urdu and others
  0x0900, // Devanagari
  0x0980, // Bengali
  0x0a00, // Gurmukhi
  0x0a80, // Gujarati, Oriya
  0x0b80, // Tamil
  0x0c00, // Telugu
  0x0c80, // Kannada
  0x0d00, // Malayalam
  0x0d80, // Sinhala
  0x0e00, // Thai
  0x0e80, // Lao, Tibetan
  0x1000, // Burmese
  0x10a0, // Georgian
  0x1100, // Ethiopic
  0x1780, // Khmer
  0x1800, // rare scripts
  0x1e00, // ạ ế: Vietnamese
  0x1f00, // rare Greek letters
  0x2000, // dashes, quotes
  0x2070, // signs of mathematics
  0x2500, // lines of boxes
  0x2580, // signs and pictures
  0x3000, // punctuation of Chinese and Japanese
  0x3040, // kana
  0x3100, // Chinese characters
  0xa000, // rare scripts
  0xac00, // Hangul
  0xd800, // halves of an emoji
  0xe000, // rare forms
  0xff00, // wide forms
];

/** Characters that Chinese writes in one of its two ways only: texts in the traditional one split more. */
const TRADITIONAL =
  '個們來為說會時國對後這還過從東車長門問開關學經義實應體點樣機電書話語記請設選項數據類號';
/** Ä and others in German, Nordic languages. */
const GERMANIC = 'äåæöøüßÄÅÆÖØÜ';

const rowOf = (first: number): number => SCRIPT + ROWS.indexOf(first);
export const KANA = rowOf(0x3040);
export const HAN = rowOf(0x3100);
export const HAN_TRADITIONAL = SCRIPT + ROWS.length;
const LATIN_GERMANIC = HAN_TRADITIONAL + 1;
export const CLASSES = LATIN_GERMANIC + 1;
/** Scripts whose letters are part of Latin words. */
export const LATIN = new Set([
  ...[0x00c0, 0x0100, 0x01a0, 0x01b1, 0x1e00].map(rowOf),
  LATIN_GERMANIC,
]);

const asciiClass = (code: number): number => {
  if (code === 0) return NONE;
  if (code === 0x0a || code === 0x0d) return NEWLINE;
  if (code === 0x20) return BLANK;
  if (code < 0x20 || code === 0x7f) return TAB;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code >= 0x41 && code <= 0x5a) return UPPER;
  return code >= 0x61 && code <= 0x7a ? LOWER : SIGN;
};

const VIETNAMESE = 29;
export const FIRST_SIGN = 32;

/** Bits of a class, and of a unit. */
export const CLASS_BITS = 6;
const CLASS = (1 << CLASS_BITS) - 1;
/**
 * A kind is a class above 8 bits, which are the row of a cell (text-reader.ts), and a unit, with room between them for those of the
 * character before: `(kind << CLASS_BITS) | nextKind` is both pairs, the index of a cell and that of a chance.
 */
const CLASS_SHIFT = 8;
const UNIT_SHIFT = 20;

/** Codes from one to before another. */
type Range = [from: number, to: number];

const addUnit = (kinds: Int32Array, unit: number, [from, to]: Range): void => {
  for (let code = from; code < to; code += 1) {
    kinds[code] = (unit << UNIT_SHIFT) | ((kinds[code] ?? 0) & (CLASS << CLASS_SHIFT));
  }
};

const addClasses = (kinds: Int32Array): void => {
  const setClass = (code: number, kind: number) => {
    kinds[code] = kind << CLASS_SHIFT;
  };
  for (const [index, first] of ROWS.entries()) {
    kinds.fill((SCRIPT + index) << CLASS_SHIFT, first, ROWS[index + 1]);
  }
  for (const letter of TRADITIONAL) setClass(letter.charCodeAt(0), HAN_TRADITIONAL);
  for (const letter of GERMANIC) setClass(letter.charCodeAt(0), LATIN_GERMANIC);
  setClass(0x0111, rowOf(0x01a0)); // đ: Vietnamese
  for (let code = 0; code < 0x80; code += 1) setClass(code, asciiClass(code));
};

/**
 * What splits are known between: 1 to 26 for a to z of either case, three above for letters with marks, the signs of
 * ASCII from 32; 0 for all else.
 */
const addUnits = (kinds: Int32Array): void => {
  addUnit(kinds, 27, [0xc0, 0x100]);
  addUnit(kinds, 28, [0x100, 0x300]);
  // Marks to combine, and ạ ế.
  addUnit(kinds, VIETNAMESE, [0x300, 0x370]);
  addUnit(kinds, VIETNAMESE, [0x1e00, 0x1f00]);
  const add = (unit: number, code: number) => addUnit(kinds, unit, [code, code + 1]);
  for (const letter of 'ƠơƯư') add(VIETNAMESE, letter.charCodeAt(0));
  let sign = FIRST_SIGN;
  for (let code = 0; code < 0x80; code += 1) {
    const kind = asciiClass(code);
    if (kind === UPPER || kind === LOWER) add(code & 0x1f, code);
    if (kind !== SIGN) continue;
    add(sign, code);
    sign += 1;
  }
};

/** The kind of each code. Few codes are walked: the first request of a process waits for it. */
export const createKinds = (): Int32Array => {
  const kinds = new Int32Array(0x1_0000);
  addClasses(kinds);
  addUnits(kinds);
  return kinds;
};
