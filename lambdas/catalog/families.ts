/** How a vendor writes a request into its prompt. None is below 0: a longer prompt never counts less. */
export type Framing = {
  /** Tokens of every prompt, of each message, call and member of its arguments. */
  prompt: number;
  message: number;
  call: number;
  argument: number;
  /** Tokens of the first tool, of each, and of each member of their schemas. */
  withTools: number;
  tool: number;
  member: number;
  /** Factors of the tokens of tools' names and descriptions, of their schemas, of all other text. */
  descriptions: number;
  schema: number;
  text: number;
};

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

/**
 * Tokenizers, with the thousandths of a token that each feature of a text counts (text-automaton.ts, in its order), and the
 * vendor's framing.
 * Fitted; docs/decisions/0005-token-estimate.md has the texts, the errors on others, and where Claude's come from.
 */
export const FAMILIES = {
  o200k: {
    weights: O200K,
    framing: {
      prompt: 4.355,
      message: 4.252,
      call: 10.144,
      argument: 7.688,
      withTools: 16.365,
      tool: 2.719,
      member: 0,
      descriptions: 1.081,
      schema: 0.48,
      text: 1.003,
    },
  },
  glm: {
    weights: GLM,
    framing: {
      prompt: 9.932,
      message: 2.933,
      call: 7.663,
      argument: 6.845,
      withTools: 94.298,
      tool: 19.865,
      member: 0.58,
      descriptions: 1.103,
      schema: 1.091,
      text: 1.006,
    },
  },
  minimax: {
    weights: MINIMAX,
    framing: {
      prompt: 170.336,
      message: 6.262,
      call: 23.835,
      argument: 9.001,
      withTools: 169.908,
      tool: 23.124,
      member: 0.5,
      descriptions: 1.067,
      schema: 1.179,
      text: 1.005,
    },
  },
  qwen: {
    weights: QWEN,
    framing: {
      prompt: 4.855,
      message: 5.866,
      call: 21.378,
      argument: 11.976,
      withTools: 197.373,
      tool: 29.205,
      member: 0.518,
      descriptions: 1.07,
      schema: 1.083,
      text: 1.006,
    },
  },
  deepseek: {
    weights: DEEPSEEK,
    framing: {
      prompt: 2.054,
      message: 2.264,
      call: 34.12,
      argument: 13.237,
      withTools: 223.357,
      tool: 15.189,
      member: 0.485,
      descriptions: 1.09,
      schema: 1.177,
      text: 1.001,
    },
  },
  claude: {
    weights: CLAUDE,
    framing: {
      prompt: 4.159,
      message: 4.866,
      call: 21.506,
      argument: 16.149,
      withTools: 349.977,
      tool: 16.121,
      member: 0.738,
      descriptions: 1.129,
      schema: 1.291,
      text: 1.044,
    },
  },
  'claude-4.7': {
    weights: CLAUDE,
    framing: {
      prompt: 6.204,
      message: 6.944,
      call: 29.292,
      argument: 22.754,
      withTools: 351.103,
      tool: 22.843,
      member: 0.869,
      descriptions: 1.577,
      schema: 1.854,
      text: 1.457,
    },
  },
  other: {
    weights: OTHER,
    framing: {
      prompt: 4.855,
      message: 4.866,
      call: 21.506,
      argument: 11.976,
      withTools: 197.373,
      tool: 19.865,
      member: 0.518,
      descriptions: 1.09,
      schema: 1.177,
      text: 1.006,
    },
  },
} satisfies Record<string, { weights: number[]; framing: Framing }>;

export type Family = keyof typeof FAMILIES;
