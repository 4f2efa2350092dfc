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

/** Weights of 12 bits each, three hexadecimal digits, in base64: half of what a list of numbers takes in the bundle. */
const readWeights = (text: string): number[] => {
  const digits = Buffer.from(text, 'base64').toString('hex');
  return Array.from({ length: Math.floor(digits.length / 3) }, (_, index) =>
    Number.parseInt(digits.slice(3 * index, 3 * index + 3), 16),
  );
};

const O200K = readWeights(
  'JyAAUGO7FrCBBNKvD8NnIkAQAtAjAAAAAAAAAfAAAuAAAAAAI9DLEKCiAAa5AAAAAAAAELCTAABPFycrXwAAKABm' +
    'GCi/H1FTFkAANXN/LELcZnRcAASsFqAUAAFzIcAVATX1PmE8AAMaPZAyFbFgLaFwExJWFAEJHgFpEbIhGnZLIMCn' +
    'fOJhH0AAHvDlQrC6XnanGlK7H0KjSTAAKpgrAAAPH0H0H0H0HqbaamAAciHVAAAAAAIxCiHCQRDjJYPDH0AAYoIK' +
    'RWIMGpH0H0HvKMQrffAAAAAAAAH0BLAAH0DxGJH0',
);

const GLM = readWeights(
  'KaAASXT7GKAAAAIbE4KnJcAAAdAfAAAAAAAAAAAAAHAAAAAAIJCEBaE3KnepAAAAAAAAEeDuAAAALkjomBAAAAAA' +
    'RVfkK+EqAABrRGS8K0MNW+PYAAN3ECAfAAFAPABLAAAAR6GfAAVozOQTQDHURVQZQlcCc7W8eDeDbQfqOZRyQdQZ' +
    'uHP4H0AAHrAAOWDkfaZLGuIUH0OvUHAAdyuGAADzH0H0H0H0DpcwdBAAI+KDAAAUChHhNQL7KUJHJRJlMUAA8QBf' +
    'GLIcGfH0H0HrOuOWfbAAAAHmBdH0AAAAH0G4PxH0',
);

const MINIMAX = readWeights(
  'L7AAJnRGFUDcAAFFEzIxLRAAAAAuA8AAAAAPA7AAAlAABpAAJzAAI6GdMLX8FeAAAAAAEPDcBuEPCxlJO5AAAAAA' +
    'G+asKjEDEoAANEPPM4LqWCPcAAgyGgAWAAAxFDAAAAAAASLhAAMC0tavMxFigcK4MlhyYfKmM8fodAfrQXgtf8Un' +
    't/fWH0FsHwLwMkBfbTc3CyHkH0KDRRAALQd1VHAAH0H0H0H0FIhKnWAAN+I/AAH1AAJARULFNjMHIZIPMVAAUVFo' +
    'JjIcIMH0H0HwAUMklNAAAAN5AmH0AAAAH0E6TpH0',
);

const QWEN = readWeights(
  'HDAAQGRGCIAAAAHjBOGYJIAAAVAAAAAAAAAABBAAAcAjAbAALQFxOdGQVbd9AAAAAAAAEpBrAADzK3ftJjAAAAAA' +
    'AAgGL6EwAmNEEMQOMrOTYKWLAAMNJ+AVAADLL/AAAAAAAAFNAASEleJhHLFXPhH7HWM3KkHAKFKjIpMkEBTBJdIn' +
    'ctPSH0AAHvDsMeDOd7lYC3HSH0G9WpAANoVAE2E6H0H0H0H0GHa6kDAAP5H4AAAAAAHHIoITIcERFqLjIsAADMEm' +
    'GAIKHSH0H0HvPOMed1AAAAN3AAH0HvAAH0FhH5H0',
);

const DEEPSEEK = readWeights(
  'OFAANcSDHSBiAAGIH4PBIpDTAABEBCAAAAAAAZAAAzAADrA5HABZEiLGEDQeAAAAAAAACzFAB7CDKKk+aFAAAAAA' +
    'MFegI8FVDAAAOYOgLxMjYBQYAAXwExAdAABkSeCQAJPxM9HFAAZMuiGbG8GrQvKeGSPnNdHtLgLeMRPmFgTuOYLa' +
    'jkTAH0AAHwDyJsCcYlh+HXHhH0MlUwAAKYaRMbGgH0H0H0H0GDernXAAVbHiAAAAAAIJHtI5ORL1JiPUJRHvn4HI' +
    'IuIRICH0H0HwQ6Jsc1AAAAL9BsH0AAAAH0FsM/H0',
);

const CLAUDE = readWeights(
  'FBFcORdwGmAAAAAASlO3XXAAAAAAAoAAAIAAAAAAAAAACSAAG6AAAABhAAD4C+AwAAAACvF6GUDTBTwLwbVkBpAA' +
    'RfOiKgEzJrCDE7E7OdM4WWSKAAZ6AAAAAAE4NuEqAAAAE/SZEIZU4wfdOcQmZtVNeNtmubfjjejWkrbWcCuyO4T5' +
    'uKuyH0TNH0BFNVBYqBK4M5O8H0QMXpAAQ38bDTDwH0H0H0H0MVdfqcAAMPJtCaSgAALEUkPTJKIuI2LNLjDlTsKg' +
    'LAIcJLH0H0H0PWNVlqAAAAAAAAH0LJAAH0AAAAH0',
);

const OTHER = readWeights(
  'MqAAOMRGGqBpAAJvFkNSIGAAAGAyA/AAAAAAAtAAAjAABhAAHuBjFJFjGGY1AAAAAAAAD+EFAqBqIzhdXuAAAAAA' +
    'NqbqJNFMBpBsPzQdL3MkXFRQAANfGHAYAADQKbAAAAAKHfG/AAUHntMyJsGHTMKbJiTyQcKrOXR2QeT9JVYKP/MI' +
    'lASKH0AAHxF0NIDwYQbrFnInH0LiUcAAMaedFsEsH0H0H0H0GHdcYCAAMkIVAAAAAAIDKkJhK5IqImKPKHCYUwGq' +
    'IXISH9H0H0HxLKNIZhAADHG/AAH0AOAAH0HfLqH0',
);

/**
 * Tokenizers, with the thousandths of a token that each feature of a text counts (text-features.ts, in its order) and the vendor's framing.
 * Fitted; docs/decisions/0005-token-estimate.md has the texts, the errors on others, and where Claude's come from.
 */
export const FAMILIES = {
  o200k: {
    weights: O200K,
    framing: {
      prompt: 4.083,
      message: 3.535,
      call: 7.029,
      argument: 4.772,
      withTools: 9.58,
      tool: 6.41,
      member: 0.094,
      descriptions: 1.075,
      schema: 0.51,
      text: 0.996,
    },
  },
  glm: {
    weights: GLM,
    framing: {
      prompt: 9.906,
      message: 2.204,
      call: 4.058,
      argument: 3.339,
      withTools: 93.643,
      tool: 20.836,
      member: 0.636,
      descriptions: 1.096,
      schema: 1.141,
      text: 0.996,
    },
  },
  minimax: {
    weights: MINIMAX,
    framing: {
      prompt: 170.178,
      message: 5.705,
      call: 21.221,
      argument: 6.481,
      withTools: 165.942,
      tool: 25.062,
      member: 0.571,
      descriptions: 1.066,
      schema: 1.25,
      text: 0.991,
    },
  },
  qwen: {
    weights: QWEN,
    framing: {
      prompt: 4.946,
      message: 5.112,
      call: 17.538,
      argument: 8.193,
      withTools: 199.65,
      tool: 30.632,
      member: 0.603,
      descriptions: 1.063,
      schema: 1.165,
      text: 0.995,
    },
  },
  deepseek: {
    weights: DEEPSEEK,
    framing: {
      prompt: 2.017,
      message: 2.03,
      call: 32.978,
      argument: 12.143,
      withTools: 222.413,
      tool: 16.696,
      member: 0.554,
      descriptions: 1.08,
      schema: 1.255,
      text: 0.982,
    },
  },
  claude: {
    weights: CLAUDE,
    framing: {
      prompt: 3.494,
      message: 4.455,
      call: 20.331,
      argument: 15.597,
      withTools: 333.355,
      tool: 17.054,
      member: 0.783,
      descriptions: 1.101,
      schema: 1.367,
      text: 1.052,
    },
  },
  'claude-4.7': {
    weights: CLAUDE,
    framing: {
      prompt: 5.268,
      message: 6.371,
      call: 27.669,
      argument: 22.023,
      withTools: 327.711,
      tool: 24.089,
      member: 0.933,
      descriptions: 1.537,
      schema: 1.961,
      text: 1.469,
    },
  },
  other: {
    weights: OTHER,
    framing: {
      prompt: 4.946,
      message: 4.455,
      call: 20.331,
      argument: 8.193,
      withTools: 199.65,
      tool: 20.836,
      member: 0.603,
      descriptions: 1.08,
      schema: 1.25,
      text: 0.995,
    },
  },
} satisfies Record<string, { weights: number[]; framing: Framing }>;

export type Family = keyof typeof FAMILIES;
