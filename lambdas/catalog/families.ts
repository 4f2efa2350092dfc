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

/** Thousandths of a token, as a byte each: four times its square root, so that small weights are as exact as large ones. */
const readWeights = (text: string): number[] =>
  Array.from(Buffer.from(text, 'base64'), (root) => root ** 2 / 16);

const O200K = readWeights(
  'CgIAOh0AKU5mdwF1fx98h1UkAY2JSzuNfkZLQ3NQSGBNSlZPS2RPpFxGtGNZAFkAjE+3iFxnWVyFNHS2AU5ZWVlZVVKjADdiVgAAX2ZU' +
    'UWBbVVticGw0WWZZWVl1omg3Vz8AWXNbWVpVWTkAa31dXl9RhJRgX3dFUg6LVC5uRUZJnH0InkhyNWlIP0JFNQBojG4kRaZSLneLgzUa' +
    'dn5yuSl3TIiYRmkraXRyZUUgPn4BR4QcjQSCbgFkHIkCdAJrASQBawE+LT9VeTsDgxwoRGthLBscAFtIOmMRHDIAi4cCbxwpAXmDLgIc',
);

const GLM = readWeights(
  'CwUGPzgCQTtqjh5qggB4d2QuAQCRTDis7oGBSoF8f6+1nLO0q712in1+2YBaAFoBcU6uil5XWnF2N5TfAVZaWlpaAAOjAG1tADpl' +
    'dpN1Zm5vZXhhjH10W2haWlplcWJEW2ACWjZhWlxRWkMCandMXUxWd5UyRnJFVBGOSBF9RUVPoIMIoEl9RXE5IVNFLy9OhVwcRKBX' +
    'OHaAeTRIfZt7t3ZzUZSeRXdab3pzeUUTWYkBW4wcgQKBYABWHIUpawJkIgQCawItLzdWizEEkBwvN2ppQAEcAHEzPmUCHDcAiIwD' +
    'dBw0AYKLLQMc',
);

const MINIMAX = readWeights(
  'CAYJQi8PQANMbwJ5iWBqXj8BAQEAbEOV861zNrhqccKma3e4sb5/ubaU2LZZXFkBc0O5jURVWVx/IXW1aEtZWVlZUAOjHm5mRIIB' +
    'aKJwWl1wZXhfa3duWmZZWVl+c2MAV2QDWRgmWVpbWQICd35XWW1bjJlWZ35FSgeHXkxhRUVGmXQqoUluO3guRFFFAy1jenclRKxJ' +
    'LnqLdTkcfH14rmtsT3OdRXdbbntzfkUmA3YBJocckDlvawRzHJQDbgRrBRsCcAMxNic3hwMAihwuVmxzQhocAGBMTVQEHDQBg4YE' +
    'chwmAXuCKwMc',
);

const QWEN = readWeights(
  'CAQFPC0AKgRdaAFOcwB2bGMBAAABTD+u329UO3pZU3VrUmNlYHY5jW9crH5ZAFlRf0+0m0dZWVSRQoGXA1BZWVlZLwO2AFdcNC8AYHNd' +
    'WWBjWGBiUWxoWWNZWVl7iGdTWmUOWU56WVtSWTMXfYVealpShIpEUn5FUg2PUip0RUVJk4EGqUefPnAcBERFcyNQfV0gRJVLkIGAcixx' +
    'eJZ3kFtzT7iPRXtdb3pzdUUCaIECO4ocfQCJYk1hHIoAbANuGx0AaxYxNTZjjFQDhxwpbWpqShocKGRIOGYCHDYAkH0BchwrAHp2KgMc',
);

const DEEPSEEK = readWeights(
  'DQgJQSsjMEl1hwOEbVttZHQ6A2B6VEG85F9QSoFnSn53W29tdYFIjXprvY1YAVgBaEitlmFTWGmEL3mlP1VYWFhYQAO3AUVTE0IO' +
    'XXVgVVleXWNdgW9mWGNYWFh1XF83WWQ2WD5YWFpSWAACdHhAWG5dh5s+a4NEUw1jVUBpRERFnXE/kUtuOnFVYk9EFwJmenkmRKZI' +
    'KHWRfzUbd391tWBpXoakRGtdbndxg0RKA28BHYEcli5maQNsHKQEWwZoEQEEbgQ8MSgnggMBfhwuZWdhSCEcAGc5VWIEHDEBhIYE' +
    'chwqAXeEOAMc',
);

const CLAUDE = readWeights(
  'DQkNNz0tNgVzoGlni4lOkWkyAQFSjlq9+7x6fKyUuOTnu8bGy7Cs4oCT3eJakloqd0nFZYB5WoeZPIT4AVxaWlpabAKxR3dnZYFP' +
    'frOIbXN0bHRib2BrXGtaWlpbcnBTSEEBWmFqWldRWjMEoZdskHJoWX49b4dGVgB3SypjRkdgiYVhiyyYQnByiWRGbx1/e1QlRpVR' +
    'L2l/hGgqi199sYloSlyJRkIBZ3JzckZwKIQBBX0cbQsBawRhHJBKfAZlJ0cEcwQ/NzlDlRcFrBw7Y3BzBR0cAWxMQz9IHDsBepsE' +
    'bRwzAYmHKQMc',
);

const CL100K = readWeights(
  'CAQVRiwcQ3qFlBKIjyhxklgoAYd+eUmt4ap6Y6SJiqJOlKmnoWVxqqmqtaJaFloAilC5c3ZrWmGNNHflHk9aWlpaYmGmDkd4YgAU' +
    'eXpVXXFtZVxkcW5AWmdaWlpTomk3Vz8GWnpdWltWWioAdpNmYHJUkKFGaXtFUwl7VzBlRUZKmX8UkUdzQXRMUT9FMwBxkYAkRchE' +
    'FouPeDQAaIRv9Gl3R4/ORmwranVzZkUkS3sdHHQcjhN+YgBcHHwBdAJpACUCawQ/JD9OfTYEhRwoP21bLh0cAUhKNVoXHDIBa4kD' +
    'dxwrCH6DMxcc',
);

const LLAMA = readWeights(
  'BwsYRiMPKF9zhAOEgB56ilsjAYSTRD+H0oJ6PJZgg5ZQjJiRimhPsKCMvaBdAF0AjlG/g1pbXU2UNniyEFFdXV1dWFmgCkF5VQAJ' +
    'dXdXXW9pYV9mdHE7XWpdXV11p2w5WkEDXW5gXV5YXTUAeIhZYWJViKJVXn5IVQeKVi9rSElMnYIMmkhyPHlRQz1IMwBymnkgSL1C' +
    'G4mNdjAAdoJ14kp8T5HISW0tbXl3aUgiS4MPQ4AdlAmFZABYHYgDdw5tBSUGbwZBMEJWfDkLiB0qRW9kMxwdAkxLMWQUHTQBi4wC' +
    'dB0rBHqHNAwd',
);

const KIMI = readWeights(
  'ABIePzEmT0V8gRtudyt8m2UvAP0AZjuEvWpdWnVvZ3dNcHhvZ2Rtent2oI5ZLFkMk06ZAFpWWWuXNLb9LGhZWVlZXZ7ABDqHVAAIbWxU' +
    'V2diWVtrcHk3WWpZWVm6oGg3WEsgWYZgXF1vWTkAbH1dXl9RiZg0ZYBFUg6GVC5uRUdInH0GnkhyNWtIP0JFNQBqjG4kRaxMKHKMgTQM' +
    'coRyuSl3TIiYRmkraXRyZUUnVGgPHpodpS2qYxRZHIEdSSZkEiQGcwo8Q0RfalIM4BwoOWyDLx8cAFtIOmMRHDIAi4cCbxwpAXmDLgIc',
);

/**
 * Tokenizers, with the thousandths of a token that each feature of a text counts (text-automaton.ts, in its order), and the
 * vendor's framing.
 * Fitted; docs/decisions/0005-token-estimate.md has the texts, the errors on others, and where Claude's come from.
 */
export const FAMILIES = {
  o200k: { weights: O200K, framing: [4.5, 4, 7, 3, 0, 0.896, 0.133, 1.048, 0.48, 1.003] },
  // The same in harmony: a fixed prompt that names the model and its channels, and those of calls and results.
  'gpt-oss': { weights: O200K, framing: [62, 4, 19, 3, 17, 0.896, 0.133, 1.048, 0.48, 1.003] },
  // Its template writes tools as OpenAI's does.
  kimi: { weights: KIMI, framing: [7, 4, 12, 3, 4, 0.896, 0.133, 1.048, 0.48, 1.018] },
  cl100k: { weights: CL100K, framing: [4.5, 4, 7, 3, 0, 3.043, 0, 1.111, 0.465, 1] },
  // What its template writes; it prints tools with four spaces a level.
  llama: { weights: LLAMA, framing: [25, 5, 10, 2, 56, 26, 3.4, 1.1, 1, 0.995] },
  glm: { weights: GLM, framing: [10, 2, 4, 4, 77.5, 19.66, 0.61, 1.071, 1.073, 1] },
  minimax: {
    weights: MINIMAX,
    framing: [170.5, 5.5, 21, 7, 159.718, 23.396, 0.525, 1.045, 1.172, 0.98],
  },
  qwen: { weights: QWEN, framing: [5, 5, 18, 9.5, 181.983, 29.187, 0.547, 1.05, 1.056, 1.01] },
  deepseek: {
    weights: DEEPSEEK,
    framing: [2, 2, 34, 14, 219.981, 15.53, 0.525, 1.069, 1.19, 0.99],
  },
  claude: {
    weights: CLAUDE,
    framing: [4.159, 4.866, 21.506, 16.149, 353.477, 16.282, 0.745, 1.092, 1.249, 0.985],
  },
  'claude-4.7': {
    weights: CLAUDE,
    framing: [6.204, 6.944, 29.292, 22.754, 354.614, 23.071, 0.878, 1.526, 1.794, 1.375],
  },
  other: {
    weights: DEEPSEEK,
    framing: [5, 4.866, 21, 9.5, 177.433, 19.167, 0.533, 1.048, 1.161, 0.998],
  },
};

/**
 * What no tokenizer counts less of: the weights that sum up to the most and are below the counts of all eleven tokenizers
 * that were measured, on 471 texts of 160 kinds and languages; the framing is the least of all vendors.
 */
export const LEAST = {
  weights: readWeights(
    'AAAAEiMKIyhbbgBmXz9bBVsAAABgSTkAgUZLQU5CQVkAOkxLTQA3AABEAFAAAAAAbEWmRFVPAFtQMQCaAAAAAAAANQCbAAAv' +
      'JAAAAAAAAAAAAAAAAAAAAAAAAAAAaCw5AAAAAEFLAFMAADIAoHxZXGZYfntEY3hFAABmUwBsAEVIAH8cnjJ7Ons/PzsAJyAA' +
      'fWgkAJFFAHuZegAAAGR6tDZvT39EADoAAHkAAAAjCX8AMHwAbAZ3awBjAIsAAAAAFhwAbQA3MjZMiAAAhwAuVGpoQBoAAABI' +
      'QWIAHDUAAIYAcQArAHFmKwAA',
  ),
  framing: [0, 1.5, 3, 2, 0, 0, 0, 0.837, 0.394, 0.985],
};

/** Names of Claude 4.7 and later, whose tokenizer and images differ from those before. */
export const CLAUDE_4_7 = /claude-(?:[a-z]+-)?(?:4[.-][7-9]\b|[5-9]|\d\d)/i;

export type Family = keyof typeof FAMILIES;
