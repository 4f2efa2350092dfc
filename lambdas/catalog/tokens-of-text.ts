import { costOf } from './character-costs.ts';

/**
 * The pieces that OpenAI's tokenizers cut a text into before they look up anything; other vendors' cut much alike.
 * Most are one token: a word with the sign or space before it, three digits, a run of signs, of blanks.
 * What is left to guess is how many tokens a word is split into.
 */
const PIECES = new RegExp(
  [
    String.raw`[\t -/:-@[-\`{-~]?[A-ZÀ-Þ]*[a-zß-\u036f\u1e00-\u1eff]+`, // camel|Case, HTMLElement
    String.raw`[\t -/:-@[-\`{-~]?[A-ZÀ-Þ]+`,
    String.raw`\d{1,3}`,
    String.raw` ?[!-/:-@[-\`{-~]+[\r\n/]*`, // signs, with the end of their line
    String.raw` ?[^\0-\x7fÀ-\u036f\u1e00-\u1eff]+`, // other scripts
    String.raw`\s*[\r\n]+`,
    String.raw`\s+(?!\S)`, // blanks, but for the one that leads a word
    '.',
  ].join('|'),
  'gs',
);

/** Tokens a letter of a long English word adds. */
const ENGLISH = 0.065;
/** How soon a word without marks is taken for English again. */
const FADE = 0.05;
/** A letter like the one before it, as in base64 of zeros: eight `A` are one token. */
const REPEATED = 0.25;

const SPACE = 0x20;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isUpper = (code: number): boolean => code >= 0x41 && code <= 0x5a;
const isLower = (code: number): boolean => code >= 0x61 && code <= 0x7a;
const isMarked = (code: number): boolean =>
  (code >= 0xc0 && code <= 0x36f) || (code >= 0x1e00 && code <= 0x1eff);
const isLetter = (code: number): boolean => isLower(code) || isUpper(code) || isMarked(code);

/** What the pieces before say about a word. */
interface Context {
  /** Tokens a letter adds in words of this language. */
  perLetter: number;
  /** Whether a digit or a lone letter was just before: then letters are hex, base64, an id, and no word. */
  random: boolean;
}

/** Letters that count, and the most that one with a mark costs. */
const measure = (word: string, from: number): { length: number; mark: number } => {
  let length = 0;
  let mark = 0;
  let previous = 0;
  for (let index = from; index < word.length; index += 1) {
    const code = word.charCodeAt(index);
    length += code === previous ? REPEATED : 1;
    if (isMarked(code)) mark = Math.max(mark, costOf(code));
    previous = code;
  }
  return { length, mark };
};

/** Capitals, and `HTMLElement`, which a tokenizer does not split as camel case. */
const tokensOfCapitals = (length: number, lead: number, endsLower: boolean): number => {
  if (endsLower) return Math.min(0.45 + 0.5 * length, 2 + 0.18 * length);
  return lead === SPACE ? 0.8 + 0.1 * length : 0.7 + 0.18 * length;
};

const tokensOfLowercase = (
  length: number,
  lead: number,
  capital: boolean,
  rate: number,
): number => {
  if (lead === SPACE) return 0.6 + length * rate;
  if (lead > 0) return Math.max(capital ? 1.5 : 1.25, 0.3 + length * Math.max(0.18, rate));
  return capital ? 0.4 + length * rate : 0.3 + length * Math.max(0.14, rate);
};

/** @param piece letters, after at most one sign or space */
const tokensOfWord = (piece: string, context: Context): number => {
  const from = isLetter(piece.charCodeAt(0)) ? 0 : 1;
  const lead = from === 0 ? 0 : piece.charCodeAt(0);
  const { length, mark } = measure(piece, from);
  const random = from === 0 && context.random;
  context.random = false;
  if (mark > 0) {
    context.perLetter = Math.max(context.perLetter, mark);
    return 0.6 + length * (context.perLetter + 0.05);
  }
  context.perLetter += (ENGLISH - context.perLetter) * FADE;
  const letters = piece.length - from;
  const capital = isUpper(piece.charCodeAt(from));
  const capitals = isUpper(piece.charCodeAt(from + 1));
  const endsLower = isLower(piece.charCodeAt(piece.length - 1));
  context.random = letters === 1 || (capital && letters === 2) || (capitals && endsLower);
  if (letters === 1) return 1;
  if (random) return (capital && (endsLower || letters > 2) ? 0.6 : 0.1) + 0.5 * length;
  if (capitals) return tokensOfCapitals(length, lead, endsLower);
  return tokensOfLowercase(length, lead, capital, context.perLetter);
};

/** `});` is one token, `}))},` is two; a line of dashes is at most two. */
const tokensOfSigns = (piece: string): number => {
  let changes = 0;
  for (let index = 1; index < piece.length; index += 1) {
    if (piece.charCodeAt(index) !== piece.charCodeAt(index - 1)) changes += 1;
  }
  return 1 + 0.32 * Math.max(0, changes - 2) + 0.015 * piece.length;
};

/** A run of another script, or of emoji: its words cost something to begin with, and by the letter. */
const tokensOfScript = (piece: string): number => {
  let tokens = 0.3;
  for (let index = 0; index < piece.length; index += 1) tokens += costOf(piece.charCodeAt(index));
  return tokens;
};

const tokensOfPiece = (piece: string, context: Context): number => {
  const last = piece.charCodeAt(piece.length - 1);
  if (isLetter(last)) return tokensOfWord(piece, context);
  context.random = isDigit(last);
  if (context.random) return 1;
  if (last > 0x7f) return tokensOfScript(piece);
  return piece.charCodeAt(0) <= SPACE && last <= SPACE ? 1 : tokensOfSigns(piece);
};

/** Tokens of a text, a fraction, estimated by rules: a vocabulary is megabytes, and right for one vendor only. */
export const tokensOfText = (text: string): number => {
  const context: Context = { perLetter: ENGLISH, random: false };
  let tokens = 0;
  for (const piece of text.match(PIECES) ?? [])
    tokens += Math.max(1, tokensOfPiece(piece, context));
  return tokens;
};
