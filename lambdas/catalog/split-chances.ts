import { CLASS_BITS, FIRST_SIGN } from './character-classes.ts';

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

/**
 * A sum of 32 of them: in the low bits the chances between letters, above are the pairs of letters, chances between signs, and
 * what the letters cost a family.
 */
export const CHANCE = 0x1ff;
export const PAIR = 9;
export const PAIR_MASK = 0x3f;
export const SIGN = 15;
export const COST = 24;
/** A chance that is 1. */
export const CERTAIN = 15;
/** How often units from `from` are split among each other; `shift` and `flag` are where a sum counts them. */
type Chances = { text: string; size: number; from: number; shift: number; flag: number };

const addChances = (splits: Int32Array, { text, size, from, shift, flag }: Chances): void => {
  const bytes = Buffer.from(text, 'base64');
  let index = 0;
  for (let first = from; first < from + size; first += 1) {
    for (let second = from; second < from + size; second += 1) {
      const chance = ((bytes[index >> 1] ?? 0) >> (4 * (~index & 1))) & CERTAIN;
      splits[(first << CLASS_BITS) | second] = (chance << shift) | flag;
      index += 1;
    }
  }
};

/** The chance of a split by the units of two characters (character-classes.ts), that of the first in the high bits. */
export const createSplits = (): Int32Array => {
  const splits = new Int32Array(1 << (2 * CLASS_BITS));
  addChances(splits, { text: BETWEEN_LETTERS, size: LETTERS, from: 1, shift: 0, flag: 1 << PAIR });
  addChances(splits, { text: BETWEEN_SIGNS, size: SIGNS, from: FIRST_SIGN, shift: SIGN, flag: 0 });
  return splits;
};

/** Bits of what two letters cost. */
const COST_BITS = 3;

/** The same, with what two letters cost a family beyond their chance, by which languages differ; all nothing if `costs` is empty. */
export const withCosts = (splits: Int32Array, costs: Uint8Array): Int32Array => {
  const own = splits.slice();
  for (let index = 0; index < LETTERS ** 2 && costs.length > 0; index += 1) {
    const bit = COST_BITS * index;
    const two = ((costs[bit >> 3] ?? 0) << 8) | (costs[(bit >> 3) + 1] ?? 0);
    const cost = (two >> (16 - COST_BITS - (bit & 7))) & (2 ** COST_BITS - 1);
    const place = ((1 + Math.floor(index / LETTERS)) << CLASS_BITS) | (1 + (index % LETTERS));
    own[place] = (own[place] ?? 0) | (cost << COST);
  }
  return own;
};
