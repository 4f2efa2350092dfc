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
  'AAAAOR0AKU1ndwB0fx9+hlUkAIyJSzuMfUVLQ3JQSGBNSlZPS2RPo1xFs2NZAFkAi0+2iFxnWVyqNHS1AE5ZWVlZVVGi' +
    'ADdiVgAAX2ZUUWBbVVticGw0WWZZWVl0oWg3Vz8AWXNQWVpVWTkAlH9fXV9Rgp5fYHhFUg5nVC5vRUZGan0Ankh0NHtH' +
    'PkNFNgBni24kRZFiAHibiAAAeW10uCl2TIeXRmkraXRyZUUgPn0ASIMcjQCBbgBlHIkAdABqACQAawA+LT9VeD0Aghwo' +
    'RGtgKxscAGBIQWIRHDIAi4YAbhwpAHiELgAc',
);

const GLM = readWeights(
  'AAAAPjgAQjlskx5qgQB3dWQuAACQTDar7IGAS4B8f660nLOzqrx2i31+2H9ZAFkAcE6tiV5XWXGYN5PZAFVZWVlZAACi' +
    'AGxsADpkdZJ0ZW1uZHdgi3xzWmdZWVlkcGFEWl8AWTZUWVtRWUMAkHpPW0xWc54xTnFFVBJoSBF7RUVMaoIAn0mAQ4I4' +
    'IFVFMDBOgVgdRIp+G2yWhAA5hYJ+uHRyUZKcRXZZbnlyeEUTWIcAXYscfgCAYgBUHIUoawBjIwQAagAtLzdWijIAjhwv' +
    'N2loPQAcAHgzRGQAHDcAh4oAcxw0AIGKLAAc',
);

const MINIMAX = readWeights(
  'AAAAQS8PPwBNbQB7iV9sXj8AAAAAa0GV761yN7hoccOma3a4sb5/ubaU17RZW1kAdEO6jkRUWVyaIXWyaEtZWVlZUACj' +
    'Hm5mRIIAaKJwWl1wZXhfa3duWmZZWVl+c2MAV2QAWRghWVpbWQAApX9WWG1bi6VaZ3dFSgZmX01fRUU+anQpoUl2Onsu' +
    'QVJFAC1ieHUlRJJVAH6ZiAAAfmR5sWpsT3ObRXdbbntzfkUmAHUAJocciDlvawB3HJUAbgBrABsAcAAxOSc3hwAAiBwu' +
    'VmxzQxocAGZMVlMAHDQAg4QAcRwmAHuAKgAc',
);

const QWEN = readWeights(
  'AAAAPTUAMABcZABTcQB9bGIAAAAASz2jzGtUQH9ZVHVrVWRnYHU8jGBbrH5ZAFlRflKzlkhWWVWrQnuXAFBZWVlZLwCu' +
    'AFdcNjAAYHNdWWBjWGBjUWpoWWNZWVl5h2hTWmQOWU9qWVtSWTMXp4ZdbFxSe59JUXhFUhFoUip9RUVKaoEApUmkOoEc' +
    'AElFeiNRgWIjRIB5dH2ZiQBlh4l8slhyT7GLRXxcb3lzdUUAZYIAOZEcfwCHYVNhHIkAbABoGx0AaxYxMjZki1oAhxwp' +
    'a2ppTBocKHZIQGcAHDYAkH8AcRwrAIGJJwAc',
);

const DEEPSEEK = readWeights(
  'AAQAQCwiMEh7iQCJa1xtZHY7AGF7VD++4F5QTIFnS395XG9udYNJkXlsv4xZAFkAaUmwmWFTWWqjMHulQFZZWVlZQQC5' +
    'AEZUE0MOXnZhVlpfXmReg3BnWWRZWVl2XWA4WmU3WT9OWVtTWQAAn3k/WXBeiKY/b3xFVA1lV0FpRUVEanNAkkxyOntU' +
    'Yk9FFwBmenUlRZFSAHmbhAAAe2h2t19qX4eiRWxeb3lyhUVLAHAAHYQcjy5nawBxHKcAXABpEAAAbwA9MikohAAAfhwv' +
    'Z2hiSSEcAG06XmIAHDIAhoYAcxwrAHeCNwAc',
);

const CLAUDE = readWeights(
  'AAAONTssNQB7o2Vjh4RLjmcxAABRi1e69rh3eqaRs+Ljt8LCxq2o3HuQ2NxZjFkpd0jCY315WYSjO4LwAFpZWVlZagCu' +
    'RnVlY39OfLCGa3FyanJgbV5pWmlZWVlZcG5SR0AAWV9jWVZQWTIAtJFuh29mV4M6doJFVQBmSipcRUVWaoNfiCueQHxu' +
    'iGBFbR2NdkskRa5DD456e1IOiGV7roVmSVuFRUEAZXBxcEVtJ4EAAHscaAkAbABfHI5KegBjJ0YAcQA+NzhCkhcAqRw6' +
    'Ym5xABwcAG5LSj5HHDoAeJYAaxwyAIaBKAAc',
);

const OTHER = readWeights(
  'AAAAPC4KNkhtgzh6gE9vcF8QAABbUjylyXZhRIlkYJKFanqJhJRfn39vv4lZAFlAb1CVhFlbWWKWR3GqAFZZWVlZRACN' +
    'OF1eHEIaX3plW2BkX2pdamliWWBZWVlqdl9JWV82WT9bWVpaWTATk4VkZmRNep5Wb3RFSxBoZlZzRUVJanZFk0t8NIFB' +
    'UklFQi9hg3gnRXBsPnCXhTcne3h2smluY4SWRV5QbHVycEUMAGsANoMcfAB3ZwBkHIUAaABpAEcAawBTMS1CdTwAexwk' +
    'PWpnQT4cF1JVSFAkHCkAfHwAcBwpAH6EMjAc',
);

const familyOf = (weights: number[], framing: FramingNumbers) => ({ weights, framing });

/**
 * Tokenizers, with the thousandths of a token that each feature of a text counts (text-automaton.ts, in its order), and the
 * vendor's framing.
 * Fitted; docs/decisions/0005-token-estimate.md has the texts, the errors on others, and where Claude's come from.
 */
export const FAMILIES = {
  o200k: familyOf(O200K, [4.5, 4, 7, 3, 0, 0.896, 0.133, 1.073, 0.492, 1.024]),
  glm: familyOf(GLM, [10, 2, 4, 4, 77.454, 19.658, 0.61, 1.1, 1.102, 1.027]),
  minimax: familyOf(MINIMAX, [170.5, 5.5, 21, 7, 159.718, 23.396, 0.525, 1.062, 1.191, 1.016]),
  qwen: familyOf(QWEN, [5, 5, 18, 9.5, 181.983, 29.187, 0.547, 1.075, 1.081, 1.024]),
  deepseek: familyOf(DEEPSEEK, [2, 2, 34, 14, 223.331, 15.766, 0.533, 1.074, 1.196, 0.99]),
  claude: familyOf(
    CLAUDE,
    [4.159, 4.866, 21.506, 16.149, 349.977, 16.121, 0.738, 1.129, 1.291, 1.044],
  ),
  'claude-4.7': familyOf(
    CLAUDE,
    [6.204, 6.944, 29.292, 22.754, 351.103, 22.843, 0.869, 1.577, 1.854, 1.457],
  ),
  other: familyOf(OTHER, [5, 4.866, 21, 9.5, 181.983, 19.658, 0.547, 1.075, 1.191, 1.024]),
};

/** Names of Claude 4.7 and later, whose tokenizer and images differ from those before. */
export const CLAUDE_4_7 = /claude-(?:[a-z]+-)?(?:4[.-][7-9]\b|[5-9]|\d\d)/i;

export type Family = keyof typeof FAMILIES;
