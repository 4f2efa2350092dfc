import { FIRST_SIGN, UNIT_BITS } from './character-classes.ts';

/**
 * How often tokenizers begin a token between two characters, in fifteenths, as four bits each in base64. Averages of the
 * tokenizers of OpenAI, GLM, MiniMax, Qwen, DeepSeek and Claude 2 over texts in 90 languages and code
 * (docs/decisions/0005-token-estimate.md). English letters follow each other without a split, Finnish ones do not.
 */

/** Rows: the first letter, columns: the second; a to z, then letters with marks: of Latin 1, others, Vietnamese. */
const LETTERS = 29;
const BETWEEN_LETTERS =
  'gACBASEAAICQACEQAXySNyHVdAkHsssyUhnRyckoCQuQJgNzAWEQJIkValPKIXSDc1PCamNSnhSJyTQQQSZpMABzEABj' +
  'EBWcoqVCDHGqF0ApJQLKQ3a4aekcUlqToUvBIky3K76zW7DME6pZcow5BbuGadcgABAEggAAADEAgLGQSrS7knrIdJpj' +
  'pdF0tqrJpUXaFiJqaKRZuTV8iiyOo5gQGJPJCrE4kRJacdq4IbgcLS2iGSFqJ022LXtioQEgRIJKMimhA0uDVrsgAIAG' +
  'RQAAELAAAQEVy5I0IdoUlhPBGhECGgN2vLZ7iHanoVvIRmUHqZm+U2EwQZPUQRGlIRMpsJi6TSUWUUhWWSKDACc8NouD' +
  'k1FcAtpz0QwRFMSReccwEQEWNDAAYPAAZpBYq5FWsJOz6qbC63bbiHR2mDzcF1AumFEpsgSpRUW9dGOWyoRr05otaQuK' +
  'MZzKSkhuzFylIjCmFa24J8uGl6KKltrGgrrNVsiSWbhmNXlmyoRCKbU1qReIWpnGp8zZyruLvYqb6du5poubuLV3nKil' +
  'XYaVVZVVYA==';

/** Rows: the first sign, columns: the second; those of ASCII, in its order. */
const SIGNS = 32;
const BETWEEN_SIGNS =
  'FYiIuWqICKiIDIhYiIiIiHAgJEsQoBEQAZMQBAAlJGo4A4iYiIiIiIiIyIiIiMjIjYiMgsiIgaiIiIjYiIwNiI2IiNOI' +
  'w4WICMiIiIiIyIiMKICIjIiIiIg4iIiIiIiIZikYJBxwERACl8FhCE04XACSCAAFjSU4gYjYFYgCCIjEhZiABoCAEAA8' +
  'KFF4h1VYjojo2kCBwz2o2PhoiI6IiIqJiIhYCIgjCAiIiIiIiMyBjIhMiIh8iIiIiIiIODiIi4MIwsiBDQiMQIiIyI3u' +
  'iPGI6EpXgIAIgIyIgJgJeIiGITh4YY9RCKLRENnKTBiIgYUYNYCDOgDSGPgyPYRIiIqIiMiIiIiIjIiIiIiIyIhdiIiI' +
  'iIiICIETiIiIiJiIgoEYA4yIiIyDAIhhiCg4OIOI+DBogjMxABDIaMj6SFhWiIiRWIiBgGP4CIWIjYiIiIiIiIjIiIiI' +
  'yIiIiPiIiICIiA2IgQ6AiIiIFQqCWIiCjYjYiIiKeIiIiMHIjLeIhIiIoDEQIhIDiNgCCI2EmI6I2IrIiIiIiHiIQYiM' +
  'jYjehajidYGHiI+M6KjICIjoisP4ZkyA0pJozIzHmJFIh5GIWG6IiIF4iIiAg4iMCBiMjIjIiIjoiIhYiHGKiICIhqaI' +
  'exiAUBUAjYfBaMI4CIiIiMWIiIiIiIiIiIiMiII=';

/** The numbers of four bits in a text of base64. */
const nibblesOf = (text: string): Buffer => {
  const digits = Buffer.from(text, 'base64').toString('hex');
  return Buffer.from(digits.replace(/./g, '0$&'), 'hex');
};

/** The low bits of a sum of chances are those between letters, above are the pairs of letters, and chances between signs. */
export const PAIR = 12;
export const SIGN = 20;
/** A chance that is 1. */
export const CERTAIN = 15;
/** So many chances can be summed. */
export const MAX_SUMMED = 128;

/** The chance of a split by the units of two characters (character-classes.ts), that of the first in the high bits. */
export const createSplits = (): Int32Array => {
  const splits = new Int32Array(1 << (2 * UNIT_BITS));
  const fill = (text: string, size: number, from: number, splitFor: (chance: number) => number) => {
    const chances = nibblesOf(text);
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column < size; column += 1) {
        const split = splitFor(chances[row * size + column] ?? 0);
        splits[((from + row) << UNIT_BITS) | (from + column)] = split;
      }
    }
  };
  fill(BETWEEN_LETTERS, LETTERS, 1, (chance) => chance | (1 << PAIR));
  fill(BETWEEN_SIGNS, SIGNS, FIRST_SIGN, (chance) => chance << SIGN);
  return splits;
};
