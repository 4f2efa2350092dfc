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
  'AAAAAADNAzAABoFwKdNvAANEPwA+PnRqHIBTAATMSPFdDaTPPXErFgEYMuGOFGJDFvFVHJGIFiJwGJaCIUEsfYJkH0AA' +
    'H0AAS+GEgTSJIRKSH0IOcTCoNJf7AAGAH0H0H0H0HGGYZsAAC/JZHLAAAAIxKGG0GcJGIKHAICJcMULeCsH0KMH0H0Hz' +
    'NHZRKhC8HUD7AAH0M7GOH0H8HGH0DMAAVQPwI3IeI3GcQlYYI6I/OIEsGpAMKXG0CHL8EsEuExK8PTAAYSFGNOCsOwE+' +
    'DtEaEsCzAAKUS1LxBSEnUbJYAAODXXSBAAAAOZLnNQhJBpNiFmRyWREuK1B0KyNPMoKDEsA/DzPVAAFIQqAyTWAAQML5' +
    'AAJ6AySPAANJAAK/AABSAALQAADvCAD3HHOLDsAAQlAyBmEkLGJFB0AuAyAAJDFBELJZATAyCaAAS6RnAAL3AyBnAAOC' +
    'Q5CEAAAy',
);

const GLM = readWeights(
  'AAAAAADyDDAAEPDLLXU+A5LEQQAANvNcJ3CCAAAAUVFqC0cu2nQJQBFbP9PDPpdsfeXqfIfQcOinNpS+PVPltXPrH0AA' +
    'H0AAMTF6dQSWIuHcH0MlWkC+VCuAAAHGH0H0H0H0AAAAZgAALbLbAADSJ2NZUvNPJ/LjL4JzN8JESvO/M/H1KSH0H0Hy' +
    'JtMNJQEgH7IvAAH0CzG+H0IKGcH0EbAAUSOnGJIAFsHLM2YfCZF7MfEsG5AVKpFCATOtEsErFlK8QhAAYrFQQAEVQZDC' +
    'BCHCEsCTCTF7QJHmAzEjSuPjAvLXV4RAAADKRLQcPhhCNQMyGZUvX4ErNnHwL7OMMzOKEsAXHhRxAAIeS8AyPgAAQEJZ' +
    'AAG5AyRZBlLMAAJqBOABAALBAAB+CNC8HJSrCbAATnAyCNDAKyKpDmAAAyAAOHClElJ2AAAyC8AARwSoAAM1AyCoAAQQ' +
    'SuB7AAAy',
);

const MINIMAX = readWeights(
  'AAAAAAEGCLAPD2AAFvLkAAOwSbI6LYInD8AAAAAAAALNEHVj34dHMvC8hAKgMflQa+LINkhKejjPPxhZgNVVtPfwH0ID' +
    'H0AANKEYhuTuEgG4H0IOXSBDNae8KnFiH0H0H0H0GVAAZ/A5L6KMEkQcAAKeZnMPH/IeMMKCOFI5LSN7LyH1KLH0H0Hz' +
    'PnM/JmAAHUJ0AAH0AjBFH0H/IAH0AAAAamP3HOHhLnIJSvajH2KbN3EsFUACKMIvFvIzEsEsDwK8NDBrZLFQNgDRO4CF' +
    'EKGnEsAAB+JVODNUBUElU7HHAAPiW0SGAAAAPdJsOaekK+LXGCM8XcEsNvILL5OrM+PhEsBbAANeAABcR6AySBDKL9LQ' +
    'AAN1AyVrAAL4AALNAAAsAAMXAACXDIBgDARrAAAAR+AyCFHJLeM6EbAqAyAAKPFsHPGvAAAyCoAAQqRFAAMfAyBZAAOw' +
    'P7BuAAAy',
);

const QWEN = readWeights(
  'AAAAAADlCyAACTAAITJuAAGuMZAAPULWJYAAAAAAAAFgDoaDodLSG9D+PtHxG5NRLQHDJtKYJENcDkTNJEIEc6PgH0AA' +
    'H0GcPkGkfKV4FIHNH0HIcbEPOsWIAAGVH0H0H0H0CKAAdtAAHXIVC5CQAAJDNAIdHtJFJlHnJAJnGbLEKpH0JnH0H0Hz' +
    'OSRyKpGrH1JvANH0GGLBH0IFGjH0CkAhbLReIhLbIQGhOtY2FKGeOGEsGpASKoGmBuPTEsEsFUK8QSAAavFLaNDPQWAw' +
    'AAFOEsOpBLGbQVJcBMEhQBOWNKPWWuSWAAJ/R6SNO+e5HfMrGJevS/EsPHITL8OZNANdEsAAKDQoAADIUfAyPvAARvJS' +
    'GxJHAySTAALfAAKjAsA2AALRAeCXCdC1JvSwH4AAR7AyBqLLK4KsFtAqAyBlNpFDD+KWAAAyCzAAUMPuAAMhAyBzAAQL' +
    'SaBdAAAy',
);

const DEEPSEEK = readWeights(
  'AAABAAD9B7BICTFGOqSVAASXLPIQLsJvNkDWAAJQOuG4D5jSxJInGUFoQUKUFePqOaIOMELuNTQzFPUlOOLTjfTNH0AA' +
    'H0AAKtFMeaW6JKGzH0K+aECQOrakD9HQH0H0H0H0EHAAhlAAEzG8AXEbAMIoNfJRHMH/I3ItJ3ImQwMKKWH0JrH0H0Hz' +
    'NtIeJFDCH9J7C8H0D5GBH0ILGsH0AAAAYkOPD8HzMKImR8a7D5L/PIEsG2AKKBHaEGK1EsEtElK8M4D+UwFmMnDVOvG6' +
    'JVGGEsAiAAKIOeNaBVEoUkGnAAOPXgRJAAAAO0KjNngzIvK4I0RrZpEtLYIoMBOTMzRVEsFfAAMSAAA0Q8AyT9CDKTLL' +
    'AAMdAybUAAISAAK0ARAAAAL8AADpCfBnBjRIAAAAPlAyCIKaKiJcFLBGAyAALlDQIkJaAAAyCdAARcRbAAM9AyB0AANy' +
    'QaC9AAAy',
);

const CLAUDE = readWeights(
  'AAAAANCvDcB3CxAAO2Z5KDJpR6Q7FgTrKZCWAAAAGeS/Hdh97MhPN6Ooa3UgfYyEyQgmk8kymPdNbpvcO2UVtuvOH0TE' +
    'H0BqNzFGkvJpPMOVH0Q7aEDYQo4FAAH4H0H0H0H0K5AAdoEuNaKAJpP2F8O7eMRbLJMeMxK9MyI7LiIoKzH1K0H0H0H0' +
    'HvMOLzGiE4EAAAH0IxJjH0HNGVH0CaAAfeUpLzRyMDKQHYQyDSNiQcEsHAAAKIFZBwIVEsEsHPK8Q2IxSFB0YVECPDL0' +
    'SIJFEsLpA0ThNrFjBTEodeEVAPTyOjO0GoANSGJ9OudjRKKJFPIDRSEsEIAAJ5MUMbMTEsLhBhQVAAAAO0AyKnAFAALY' +
    'AAI2AyTlFSObAAJgBfExAAMYAADtC8DDENU0AgAAb0AyDQJVLxMZAAAwAyAAL5FkFUDuE5AyDRAAOEWEAALKAyCcAARl' +
    'QXBkAAAy',
);

const OTHER = readWeights(
  'AAAAAADeCDAGC2FELsQsDGOdQDGKMAMOI3AQAAAAILGgDialnRNpJREjSdJ3I+U6RWK7OnSYRGVbI5YmP3MCjjSOH0AA' +
    'H0D9MGGTVjQ8HwIHH0JTV9E3MicVAAHJH0H0H0H0EgAATdDGIhImAyEUApI6ObKDIDI8JuIwK9IhLDK0JdH0JDH0H0Hz' +
    'LBNiI5FRHzIxC2H0D4IHH0H9H6H0CSAXVIRPJtKJJyF3OjYbHSMANPEsFhARKqKGHMNAEsEsFOK8NtEmVNFhO6CpQVEI' +
    'GiFREsESCIJQQyOKBhEoMRLdDzMRWIRWC/BfOsOINte0KzL6JkREWHEsImGVLaNeMsMKEsAJAALSAAC0QzAyPDAANxKd' +
    'AAJuAyRXAAKgAAKuAAE5AALQAAGuCUCAESNcDfAAOsAyBTDlK6KREJDvAyAgGnHCFDGTBPAyBqAAPBO9AAMLAyBnAAPd' +
    'Q5CbCPAy',
);

/**
 * Tokenizers, with the thousandths of a token that each feature of a text counts (text-features.ts, in its order) and the vendor's framing.
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
