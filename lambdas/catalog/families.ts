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
  'AAAAOR0AKU1ndwB0fx9+hlUkAIyJSzuMfUVLQ3JQSGBNSlZPS2RPo1xFs2NZAFkAi0+2iFxnWVyENHS1AE5ZWVlZVVGiADdi' +
    'VgAAX2ZUUWBbVVticGw0WWZZWVl0oWg3Vz8AWXNbWVpVWTkAlH9fXV9Rgp5fYHhFUg5nVC5vRUZGan0Ankh0NHtHPkNFNgBn' +
    'i24kRZFiAHibiAAAeW10uCl2TIeXRmkraXRyZUUgPn0ASIMcjQCBbgBlHIkAdABqACQAawA+LT9VeD0AghwoRGtgKxscAGBI' +
    'QWIRHDIAi4YAbhwpAHiELgAc',
);

const GLM = readWeights(
  'AAAAPjgAQjlskx5qgQB3dWQuAACQTDar7IGAS4B8f660nLOzqrx2i31+2H9ZAFkAcE6tiV5XWXF2N5PZAFVZWVlZAACiAGxs' +
    'ADpkdZJ0ZW1uZHdgi3xzWmdZWVlkcGFEWl8AWTZgWVtRWUMAkHpPW0xWc54xTnFFVBJoSBF7RUVMaoIAn0mAQ4I4IFVFMDBO' +
    'gVgdRIp+G2yWhAA5hYJ+uHRyUZKcRXZZbnlyeEUTWIcAXYscfgCAYgBUHIUoawBjIwQAagAtLzdWijIAjhwvN2loPQAcAHgz' +
    'RGQAHDcAh4oAcxw0AIGKLAAc',
);

const MINIMAX = readWeights(
  'AAAAQS8PPwBNbQB7iV9sXj8AAAAAa0GV761yN7hoccOma3a4sb5/ubaU17RZW1kAdEO6jkRUWVyBIXWyaEtZWVlZUACjHm5m' +
    'RIIAaKJwWl1wZXhfa3duWmZZWVl+c2MAV2QAWRgmWVpbWQAApX9WWG1bi6VaZ3dFSgZmX01fRUU+anQpoUl2OnsuQVJFAC1i' +
    'eHUlRJJVAH6ZiAAAfmR5sWpsT3ObRXdbbntzfkUmAHUAJocciDlvawB3HJUAbgBrABsAcAAxOSc3hwAAiBwuVmxzQxocAGZM' +
    'VlMAHDQAg4QAcRwmAHuAKgAc',
);

const QWEN = readWeights(
  'AAAAPTUAMABcZABTcQB9bGIAAAAASz2jzGtUQH9ZVHVrVWRnYHU8jGBbrH5ZAFlRflKzlkhWWVWPQnuXAFBZWVlZLwCuAFdc' +
    'NjAAYHNdWWBjWGBjUWpoWWNZWVl5h2hTWmQOWU95WVtSWTMXp4ZdbFxSe59JUXhFUhFoUip9RUVKaoEApUmkOoEcAElFeiNR' +
    'gWIjRIB5dH2ZiQBlh4l8slhyT7GLRXxcb3lzdUUAZYIAOZEcfwCHYVNhHIkAbABoGx0AaxYxMjZki1oAhxwpa2ppTBocKHZI' +
    'QGcAHDYAkH8AcRwrAIGJJwAc',
);

const DEEPSEEK = readWeights(
  'AAQAQCwiMEh7iQCJa1xtZHY7AGF7VD++4F5QTIFnS395XG9udYNJkXlsv4xZAFkAaUmwmWFTWWqIMHulQFZZWVlZQQC5AEZU' +
    'E0MOXnZhVlpfXmReg3BnWWRZWVl2XWA4WmU3WT9ZWVtTWQAAn3k/WXBeiKY/b3xFVA1lV0FpRUVEanNAkkxyOntUYk9FFwBm' +
    'enUlRZFSAHmbhAAAe2h2t19qX4eiRWxeb3lyhUVLAHAAHYQcjy5nawBxHKcAXABpEAAAbwA9MikohAAAfhwvZ2hiSSEcAG06' +
    'XmIAHDIAhoYAcxwrAHeCNwAc',
);

const CLAUDE = readWeights(
  'AAAONTssNQB7o2Vjh4RLjmcxAABRi1e69rh3eqaRs+Ljt8LCxq2o3HuQ2NxZjFkpd0jCY315WYSWO4LwAFpZWVlZagCuRnVl' +
    'Y39OfLCGa3FyanJgbV5pWmlZWVlZcG5SR0AAWV9oWVZQWTIAtJFuh29mV4M6doJFVQBmSipcRUVWaoNfiCueQHxuiGBFbR2N' +
    'dkskRa5DD456e1IOiGV7roVmSVuFRUEAZXBxcEVtJ4EAAHscaAkAbABfHI5KegBjJ0YAcQA+NzhCkhcAqRw6Ym5xABwcAG5L' +
    'Sj5HHDoAeJYAaxwyAIaBKAAc',
);

const CL100K = readWeights(
  'AAAXRSscP4CMmBKFjyduj1YoAIV9d0qn2p95ZaGIhp9NkKOhnGRuo6Kfs55ZFVkAjE+5cnNqWWCPNHXYHk5ZWVlZYV+kDkZ3YgAU' +
    'd3lUXHBsZFtjcG1AWWZZWVlSoWg3Vj8FWXlcWVpVWSoAlaNmXXVTkJ9DbHRFUgtuVy9mRUZGan4Sk0d4P3pJTz9FMwBriH0lRaFn' +
    'AICdfQAAaWxu/2h2R43LRmsraXRyZUUkS3odHHIcjxF8XwBgHHwAdABoACUAagA+Iz9OezUAghwoP2xaLB0cAEhJM1kWHDIAaocA' +
    'dhwrCH59Mhcc',
);

const LLAMA = readWeights(
  'AAAcQiASJ2B8ggB5ih56g1chAIGMQ0SIt3JvPJZhcopNeYeAfGROo410s5FZAFkAi0+4f1hbWU+RNHOqDk5ZWVlZVVaaCj5yUwAJ' +
    'bnJUWGpkXVticG05WWZZWVlwoWg3Vz8AWW1cWVpVWTUAk59cXmRShaFPYndFUgtoVS1uRUZGan0InkmBN3lIP0BFNQBoiXYjRZVk' +
    'AXmdfwAAdmxz/0h2TIrARmkraXRyZUUhR30ORHoclwCAZABgHIcBdAxpACQAawU+Mz9UdzkJghwoQ2tfLhscAFdIMV8SHDIAhoUA' +
    'bxwpA3p/Mgsc',
);

const OTHER = readWeights(
  'AAAAPC4KNkhtgzh6gE9vcF8QAABbUjylyXZhRIlkYJKFanqJhJRfn39vv4lZAFlAb1CVhFlbWWJ5R3GqAFZZWVlZRACNOF1e' +
    'HEIaX3plW2BkX2pdamliWWBZWVlqdl9JWV82WT9oWVpaWTATk4VkZmRNep5Wb3RFSxBoZlZzRUVJanZFk0t8NIFBUklFQi9h' +
    'g3gnRXBsPnCXhTcne3h2smluY4SWRV5QbHVycEUMAGsANoMcfAB3ZwBkHIUAaABpAEcAawBTMS1CdTwAexwkPWpnQT4cF1JV' +
    'SFAkHCkAfHwAcBwpAH6EMjAc',
);

/**
 * Tool lists and prompts as agents send them count up to 3 % less than those of the fit, by which it is lowered as far as
 * the checking set allows.
 */
const LOWERED = 0.985;
const LOWERED_CLAUDE = 0.99;
/** What tools and texts cost is fitted; the numbers before are constants of templates. */
const FIRST_FITTED = FRAMING_MEMBERS.indexOf('withTools');

const familyOf = (weights: number[], framing: FramingNumbers, lowered = LOWERED) => ({
  weights,
  framing: framing.map((number, index) => (index < FIRST_FITTED ? number : number * lowered)),
});

/**
 * Tokenizers, with the thousandths of a token that each feature of a text counts (text-automaton.ts, in its order), and the
 * vendor's framing.
 * Fitted; docs/decisions/0005-token-estimate.md has the texts, the errors on others, and where Claude's come from.
 */
export const FAMILIES = {
  o200k: familyOf(O200K, [4.5, 4, 7, 3, 0, 0.896, 0.133, 1.073, 0.492, 1.024]),
  // The same with the fixed prompt of its template, which states what the model is and its channels.
  'gpt-oss': familyOf(O200K, [68, 4, 7, 3, 0, 0.896, 0.133, 1.073, 0.492, 1.024]),
  // Its template writes tools as OpenAI's does; the weights are a stand-in, since its vocabulary was not available.
  kimi: familyOf(O200K, [7, 4, 12, 3, 4, 0.896, 0.133, 1.073, 0.492, 1.024]),
  cl100k: familyOf(CL100K, [4.5, 4, 7, 3, 0, 3.013, 0, 1.115, 0.466, 1.014], 1),
  // Its template escapes results of tools, which the factor for text pays for: documents count up to 8 % too many.
  llama: familyOf(LLAMA, [27, 9, 16, 6, 0, 19.558, 3.13, 1.106, 1.03, 1.06], 1.02),
  glm: familyOf(GLM, [10, 2, 4, 4, 77.454, 19.658, 0.61, 1.1, 1.102, 1.027]),
  minimax: familyOf(MINIMAX, [170.5, 5.5, 21, 7, 159.718, 23.396, 0.525, 1.062, 1.191, 1.016]),
  qwen: familyOf(QWEN, [5, 5, 18, 9.5, 181.983, 29.187, 0.547, 1.075, 1.081, 1.024]),
  deepseek: familyOf(DEEPSEEK, [2, 2, 34, 14, 223.331, 15.766, 0.533, 1.074, 1.196, 0.99]),
  claude: familyOf(
    CLAUDE,
    [4.159, 4.866, 21.506, 16.149, 349.977, 16.121, 0.738, 1.129, 1.291, 1.044],
    LOWERED_CLAUDE,
  ),
  'claude-4.7': familyOf(
    CLAUDE,
    [6.204, 6.944, 29.292, 22.754, 351.103, 22.843, 0.869, 1.577, 1.854, 1.457],
    LOWERED_CLAUDE,
  ),
  other: familyOf(OTHER, [5, 4.866, 21, 9.5, 181.983, 19.658, 0.547, 1.075, 1.191, 1.024]),
};

/**
 * What no tokenizer counts less of: the weights that sum up to the most and are below the counts of all eleven tokenizers
 * that were measured, on 471 texts of 160 kinds and languages; the framing is the least of all vendors.
 */
export const LEAST = familyOf(
  readWeights(
    'AAAAEiMKIyhbbgBmXz9bBVsAAABgSTkAgUZLQU5CQVkAOkxLTQA3AABEAFAAAAAAbEWmRFVPAFtQMQCaAAAAAAAANQCbAAAv' +
      'JAAAAAAAAAAAAAAAAAAAAAAAAAAAaCw5AAAAAEFLAFMAADIAoHxZXGZYfntEY3hFAABmUwBsAEVIAH8cnjJ7Ons/PzsAJyAA' +
      'fWgkAJFFAHuZegAAAGR6tDZvT39EADoAAHkAAAAjCX8AMHwAbAZ3awBjAIsAAAAAFhwAbQA3MjZMiAAAhwAuVGpoQBoAAABI' +
      'QWIAHDUAAIYAcQArAHFmKwAA',
  ),
  [0, 1.5, 3, 2, 0, 0, 0, 0.85, 0.4, 1],
);

/** Names of Claude 4.7 and later, whose tokenizer and images differ from those before. */
export const CLAUDE_4_7 = /claude-(?:[a-z]+-)?(?:4[.-][7-9]\b|[5-9]|\d\d)/i;

export type Family = keyof typeof FAMILIES;
