import { WEIGHTS } from '#late/family-weights';

/** How a vendor writes a request into its prompt, in the order of a prompt's counts. */
export const FRAMING_MEMBERS = [
  // Tokens of every prompt, of each message, call and member of its arguments.
  'prompt',
  'message',
  'call',
  'argument',
  // Tokens of the first tool, of each, and of each member of their schemas.
  'withTools',
  'tool',
  'member',
  // Factors of the tokens of tools' names and descriptions, of their schemas, of all other text.
  'descriptions',
  'schema',
  'text',
] as const;

/** None is below 0: a longer prompt never counts less. */
export type Framing = Record<(typeof FRAMING_MEMBERS)[number], number>;

/** The numbers of a framing in the order of its members: a sum of them is read faster than a sum of named ones. */
export type FramingNumbers = readonly number[];

export const numbersOf = (framing: Framing): FramingNumbers =>
  FRAMING_MEMBERS.map((member) => framing[member]);

export const framingOf = (numbers: FramingNumbers): Framing =>
  Object.fromEntries(FRAMING_MEMBERS.map((name, index) => [name, numbers[index]])) as Framing;

/** The vocabularies whose weights are known, and that which counts least. */
export type Weights = keyof typeof WEIGHTS | 'least';

/**
 * Tokenizers, by whose weights they read texts (family-weights.json), and the vendor's framing.
 * Fitted; docs/decisions/0005-token-estimate.md has the texts, the errors on others, and where Claude's come from.
 */
export const FAMILIES = {
  o200k: { weights: 'o200k', framing: [4.5, 4, 7, 3, 0, 0.896, 0.133, 1.048, 0.48, 0.983] },
  // The same in harmony: a fixed prompt that names the model and its channels, and those of calls and results.
  'gpt-oss': { weights: 'o200k', framing: [62, 4, 19, 3, 17, 0.896, 0.133, 1.048, 0.48, 0.973] },
  // Its template writes tools as OpenAI's does.
  kimi: { weights: 'kimi', framing: [7, 4, 12, 3, 4, 0.896, 0.133, 1.048, 0.48, 1.018] },
  cl100k: { weights: 'cl100k', framing: [4.5, 4, 7, 3, 0, 3.043, 0, 1.044, 0.437, 0.99] },
  // What its template writes; it prints tools with four spaces a level.
  llama: { weights: 'llama', framing: [25, 5, 10, 2, 56, 27.5, 3.4, 1.05, 0.955, 0.96] },
  glm: { weights: 'glm', framing: [10, 2, 4, 4, 77.5, 19.66, 0.61, 1.071, 1.073, 0.985] },
  minimax: {
    weights: 'minimax',
    framing: [170.5, 5.5, 21, 7, 159.718, 23.396, 0.525, 1.003, 1.172, 0.946],
  },
  qwen: { weights: 'qwen', framing: [5, 5, 18, 9.5, 181.983, 34.187, 0.547, 1.05, 1.056, 0.995] },
  deepseek: {
    weights: 'deepseek',
    framing: [2, 2, 34, 14, 219.981, 15.53, 0.525, 1.037, 1.154, 0.98],
  },
  claude: {
    weights: 'claude',
    framing: [4.159, 4.866, 21.506, 16.149, 353.477, 16.282, 0.745, 1.092, 1.249, 0.985],
  },
  'claude-4.7': {
    weights: 'claude',
    framing: [6.204, 6.944, 29.292, 22.754, 354.614, 23.071, 0.878, 1.526, 1.794, 1.375],
  },
  other: {
    weights: 'deepseek',
    framing: [5, 4.866, 21, 9.5, 177.433, 19.167, 0.533, 1.017, 1.126, 0.988],
  },
} satisfies Record<string, { weights: Weights; framing: FramingNumbers }>;

/**
 * What no tokenizer counts less of: the weights that sum up to the most and are below the counts of all eleven tokenizers
 * that were measured, on 471 texts of 160 kinds and languages; the framing is the least of all vendors.
 */
const LEAST_WEIGHTS =
  'AAAAEiMKIyhbbgBmXz9bAAVbAAAAYEk5AIFGS0FOQkFZADpMS00ANwAARABQAAAAAGxFpkRVTwBbUDEAmgAAAAAAADUAmwAALyQAAAAA' +
  'AAAAAAAAAAAAAAAAAAAAAGgsOQAAAABBSwBTAAAyAKB8WVxmWH57RGN4RQAAZlMAbABFSAB/HJ4yezp7Pz87ACcgAH1oJACRRQB7mXoA' +
  'AABkerQ2b09/RAA6AAB5AAAAIwl/ADB8AGwGd2sAYwCLAAAAABYcAG0ANzI2TIgAAIcALlRqaEAaAAAASEFiABw1AACGAHEAKwBxZisA' +
  'AA==';
export const LEAST = {
  weights: 'least' as const,
  framing: [0, 1.5, 3, 2, 0, 0, 0, 0.837, 0.394, 0.985],
};

/**
 * Bytes: of each feature of a text (text-automaton.ts, in its order) four times the square root of its thousandths of a token, so
 * that small weights are as exact as large ones; then what two letters cost (split-chances.ts), of most. Those of a family are a
 * late part of the bundle: the gate reads with the least ones.
 */
export const bytesOfWeights = (weights: Weights): Buffer =>
  Buffer.from(weights === 'least' ? LEAST_WEIGHTS : WEIGHTS[weights], 'base64');

/** Names of Claude 4.7 and later, whose tokenizer and images differ from those before. */
export const CLAUDE_4_7 = /claude-(?:[a-z]+-)?(?:4[.-][7-9]\b|[5-9]|\d\d)/i;

export type Family = keyof typeof FAMILIES;
