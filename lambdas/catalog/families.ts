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
  'DAAAPjkAQjtpjB5rgQB4dmQuAQCRTDes7YGBS4F8f6+1nLO0q712jH1+2X9aAFoAcU6uil5XWnF3N5TaAVZaWlpaAAGjAG1tADpl' +
    'dpN1Zm5vZXhhjH10W2haWlplcWJEW2AAWjZhWlxRWkMCa3ZMXUxWdpQyRnBFVBKNSBF9RUVPn4MIoEl+RHA5IVRFLy9OhFwcRKBX' +
    'OHZ/eTRIfZx7uHVzUZOdRXdab3pzeUUTWIkBWoscfwCBYABYHIUpawBkIgQAawAtLzdWizEEjxwvN2ppQAEcAHEzPWUAHDcAiIwD' +
    'dBw0AYKKLQIc',
);

const MINIMAX = readWeights(
  'CgAAQS8PPwNMbAF7iF9qXj8BAQAAa0KV761yN7hoccKma3a4sb5/ubWU17RZW1kAdEO6jkRUWVyBIXWyaEtZWVlZUAGjHm5mRIIA' +
    'aKJwWl1wZXhfa3duWmZZWVl+c2MAV2QAWRgmWVpbWQAAeH5WWW1bi5hXZXxFSgmGXkxhRUVGmHQqoklvO3cuQ1FFAy1ieHUlRKxJ' +
    'LnqKczkcfH13sWpsT3ObRXdbbntzfkUmAXYBJoUcjTlvawN1HJQDbgRrBBsAcAAxNic3hwAAiBwuVmxzQhocAGFMS1QCHDQAg4YE' +
    'chwmAXuAKwIc',
);

const QWEN = readWeights(
  'CAQFPC0AKgRdaAFOcwB2bGMBAAABTD+u329UO3pZU3VrUmNlYHY5jW9crH5ZAFlRf0+0m0dZWVSRQoGXA1BZWVlZLwO2AFdcNC8AYHNd' +
    'WWBjWGBiUWxoWWNZWVl7iGdTWmUOWU56WVtSWTMXfYVealpShIpEUn5FUg2PUip0RUVJk4EGqUefPnAcBERFcyNQfV0gRJVLkIGAcixx' +
    'eJZ3kFtzT7iPRXtdb3pzdUUCaIECO4ocfQCJYk1hHIoAbANuGx0AaxYxNTZjjFQDhxwpbWpqShocKGRIOGYCHDYAkH0BchwrAHp2KgMc',
);

const DEEPSEEK = readWeights(
  'DwAAPywiMElygwCIaltsY3Q6AWB6Uz+83l1PS4BmSn53W25tdIFIj3hrvYpYAVgAaEiul2BSWGmGL3mjP1VYWFhYQAG3AEVTE0IO' +
    'XXVgVVleXWNdgW9mWGNYWFh1XF83WWQ2WD5YWFpSWAAAdXc/WG5dhpo+aYBEUw5jVUBpRERFnHE/kUtuOnBUYk9EFwJleXgmRKZI' +
    'KHWQfjUbd390tV5pXoWhRGtdbndxg0RKAG8BHYAckS5maQNvHKQDWwRoEAEAbgA8MCgnggABfRwuZWdhSCEcAGc5U2ICHDEAhIYE' +
    'chwqAXeBOAIc',
);

const CLAUDE = readWeights(
  'EAAHNjwtNgVwl2dliYZNkGkyAQBSjVi9+bp5e6iTtuTnucTEybCq4H2S3N9aj1oqeUnFZX96WoaZPIT0AVxaWlpabACxR3dnZYFP' +
    'frOIbXN0bHRib2BrXGtaWlpbcnBTSEEAWmFqWldRWjMAp5Nqj3JoWH89bIBGVgB6SyphRkdhiIVhiyyaQm5wiWVGbR1/elIlRpRR' +
    'L2h9hWkqi199sIdoSlyHRkIAZ3JzckZvKIQBAH0cawoAagBiHJBIfABlJ0cAcwA/NjlDlRcEqhw7Y3BzBB0cAGtMQT9IHDsBepsE' +
    'bRwzAIeCKQIc',
);

const CL100K = readWeights(
  'DAATRSscQH2CkBKGjydwkFcoAYZ+eEqo26F6ZaKIh6BOkaWjnmVvpKOhtJ9aFVoAjVC6c3RqWmGQNHbaHk9aWlpaYmClDkd4YwAU' +
    'eHpVXXFtZVxkcW5AWmdaWlpTomk3Vz8FWnpdWltWWioAd5dkX3NUkKFFZXZFUwt6VzBmRUZKmH8Uk0d2QHNLUT9FMwBwjIAkRclE' +
    'FoqOdzQAaIVu/Wl3R47MRmwranVzZkUkS3wdHHIcjRJ9YQBfHHwCdQBpACUAawA/Iz9OfDUEgxwoP21bLh0cAEdKM1oWHDIAa4kD' +
    'dxwrCH6AMxcc',
);

const LLAMA = readWeights(
  'DAASRCISKWBuegGAjR95iFojAoaSRUOMwXh1PZxgeJJQgI+Hg2hQqZV6u5hdAF0AkVLAhFtcXVGYNnewD1FdXV1dWFmgCkF3VgAJ' +
    'c3dXXG5oYV9mdHE7XWpdXV11p2w5WkEAXXFgXV5YXTUAeoZXYWNVh6JUW3dIVQuIVi9tSElMm4IMnUl2O3dPRD5IMwBxk3ogSL5C' +
    'G4eMdTAAdoN08Up8T4/GSW0tbXl3aUgiSoUPQX0dkgeEZABeHYgCeAxtACUAbwBBLkJWfDcLhh0qRW9kMxwdAExLL2QTHTQAi4wD' +
    'dB0rA3mENAwd',
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
  // The same with the fixed prompt of its template, which states what the model is and its channels.
  'gpt-oss': { weights: O200K, framing: [68, 4, 7, 3, 0, 0.896, 0.133, 1.048, 0.48, 1.003] },
  // Its template writes tools as OpenAI's does.
  kimi: { weights: KIMI, framing: [7, 4, 12, 3, 4, 0.896, 0.133, 1.048, 0.48, 1.018] },
  cl100k: { weights: CL100K, framing: [4.5, 4, 7, 3, 0, 3.043, 0, 1.111, 0.465, 1.005] },
  // What its template writes; it prints tools with four spaces a level.
  llama: { weights: LLAMA, framing: [25, 5, 10, 2, 56, 26, 3.4, 1.1, 1, 1.005] },
  glm: { weights: GLM, framing: [10, 2, 4, 4, 77.5, 19.66, 0.61, 1.071, 1.073, 1.005] },
  minimax: {
    weights: MINIMAX,
    framing: [170.5, 5.5, 21, 7, 159.718, 23.396, 0.525, 1.045, 1.172, 0.99],
  },
  qwen: { weights: QWEN, framing: [5, 5, 18, 9.5, 181.983, 29.187, 0.547, 1.05, 1.056, 1.01] },
  deepseek: {
    weights: DEEPSEEK,
    framing: [2, 2, 34, 14, 219.981, 15.53, 0.525, 1.069, 1.19, 0.99],
  },
  claude: {
    weights: CLAUDE,
    framing: [4.159, 4.866, 21.506, 16.149, 353.477, 16.282, 0.745, 1.092, 1.249, 1.01],
  },
  'claude-4.7': {
    weights: CLAUDE,
    framing: [6.204, 6.944, 29.292, 22.754, 354.614, 23.071, 0.878, 1.526, 1.794, 1.41],
  },
  other: {
    weights: DEEPSEEK,
    framing: [5, 4.866, 21, 9.5, 177.433, 19.167, 0.533, 1.048, 1.161, 1.003],
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
