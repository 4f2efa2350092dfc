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
  o200k: familyOf(O200K, [4.355, 4.252, 10.144, 7.688, 16.365, 2.719, 0, 1.081, 0.48, 1.003]),
  glm: familyOf(GLM, [9.932, 2.933, 7.663, 6.845, 94.298, 19.865, 0.58, 1.103, 1.091, 1.006]),
  minimax: familyOf(
    MINIMAX,
    [170.336, 6.262, 23.835, 9.001, 169.908, 23.124, 0.5, 1.067, 1.179, 1.005],
  ),
  qwen: familyOf(QWEN, [4.855, 5.866, 21.378, 11.976, 197.373, 29.205, 0.518, 1.07, 1.083, 1.006]),
  deepseek: familyOf(
    DEEPSEEK,
    [2.054, 2.264, 34.12, 13.237, 223.357, 15.189, 0.485, 1.09, 1.177, 1.001],
  ),
  claude: familyOf(
    CLAUDE,
    [4.159, 4.866, 21.506, 16.149, 349.977, 16.121, 0.738, 1.129, 1.291, 1.044],
  ),
  'claude-4.7': familyOf(
    CLAUDE,
    [6.204, 6.944, 29.292, 22.754, 351.103, 22.843, 0.869, 1.577, 1.854, 1.457],
  ),
  other: familyOf(
    OTHER,
    [4.855, 4.866, 21.506, 11.976, 197.373, 19.865, 0.518, 1.09, 1.177, 1.006],
  ),
};

/** Names of Claude 4.7 and later, whose tokenizer and images differ from those before. */
export const CLAUDE_4_7 = /claude-(?:[a-z]+-)?(?:4[.-][7-9]\b|[5-9]|\d\d)/i;

export type Family = keyof typeof FAMILIES;
