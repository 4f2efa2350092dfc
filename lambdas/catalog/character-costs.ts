/**
 * Tokens of one character outside ASCII, from the code in a row up to the next row's. Letters of Latin with marks
 * say what a letter costs in the words around them: hardly any English word is split, and most Polish ones are.
 * Measured with OpenAI's o200k (docs/decisions/0005-token-estimate.md).
 */
const COSTS: [first: number, tokens: number][] = [
  [0x0080, 1.2],
  [0x00c0, 0.09], // é ñ ã: French, Spanish, Portuguese
  [0x0100, 0.21], // ą č ğ ő: Polish, Czech, Turkish, Hungarian
  [0x01a0, 0.07], // ơ ư: Vietnamese
  [0x01b1, 0.21],
  [0x0370, 0.35], // Greek
  [0x0400, 0.21], // Cyrillic
  [0x0452, 1.1], // і ї є: what Ukrainian has and Russian lacks
  [0x0460, 0.6], // ә қ ң: Kazakh and others
  [0x0530, 0.26], // Armenian
  [0x0590, 0.4], // Hebrew
  [0x0600, 0.3], // Arabic
  [0x0900, 0.29], // Devanagari
  [0x0980, 0.33], // Bengali
  [0x0a00, 0.56], // Gurmukhi
  [0x0a80, 0.36], // Gujarati, Oriya, Tamil
  [0x0c00, 0.48], // Telugu
  [0x0c80, 0.4], // Kannada
  [0x0d00, 0.34], // Malayalam
  [0x0d80, 0.58], // Sinhala
  [0x0e00, 0.42], // Thai
  [0x0e80, 1.85], // Lao, Tibetan
  [0x1000, 0.53], // Burmese
  [0x10a0, 0.26], // Georgian
  [0x1100, 2], // Ethiopic
  [0x1780, 0.62], // Khmer
  [0x1800, 1.2],
  [0x1e00, 0.07], // ạ ế: Vietnamese
  [0x1f00, 1.2],
  [0x2000, 0.8], // dashes, quotes
  [0x2070, 1.2],
  [0x2500, 0.4], // lines of boxes
  [0x2580, 1.4], // signs and pictures
  [0x3000, 0.71], // kana and their punctuation
  [0x3100, 0.73], // Chinese
  [0xa000, 1.2],
  [0xac00, 0.62], // Hangul
  [0xd800, 1], // each half of an emoji
  [0xe000, 1.2],
  [0xfe00, 0.8],
];
const HUNDREDTHS = new Uint8Array(0x1_0000);
for (const [first, tokens] of COSTS) HUNDREDTHS.fill(Math.round(tokens * 100), first);
for (const letter of 'äåæöøüßÄÅÆÖØÜ') HUNDREDTHS[letter.charCodeAt(0)] = 16; // German, Nordic languages
HUNDREDTHS[0x0111] = 7; // đ: Vietnamese

/** Tokens of a UTF-16 code; 0 for ASCII. */
export const costOf = (code: number): number => (HUNDREDTHS[code] ?? 0) / 100;
