/**
 * How often tokenizers begin a token between two characters, in fifteenths, as four bits each in base64. Averages of the
 * tokenizers of OpenAI, GLM, MiniMax, Qwen, DeepSeek and Claude 2 over texts in 90 languages and code
 * (docs/decisions/0005-token-estimate.md). English letters follow each other without a split, Finnish ones do not.
 */

/** Rows: the first letter, columns: the second; a to z, then letters with marks: of Latin 1, others, Vietnamese. */
export const LETTERS = 29;
export const BETWEEN_LETTERS =
  'gACBASEAAICQACEQAXySNyHVdAkHsssyUhnRyckoCQuQJgNzAWEQJIkValPKIXSDc1PCamNSnhSJyTQQQSZpMABzEABj' +
  'EBWcoqVCDHGqF0ApJQLKQ3a4aekcUlqToUvBIky3K76zW7DME6pZcow5BbuGadcgABAEggAAADEAgLGQSrS7knrIdJpj' +
  'pdF0tqrJpUXaFiJqaKRZuTV8iiyOo5gQGJPJCrE4kRJacdq4IbgcLS2iGSFqJ022LXtioQEgRIJKMimhA0uDVrsgAIAG' +
  'RQAAELAAAQEVy5I0IdoUlhPBGhECGgN2vLZ7iHanoVvIRmUHqZm+U2EwQZPUQRGlIRMpsJi6TSUWUUhWWSKDACc8NouD' +
  'k1FcAtpz0QwRFMSReccwEQEWNDAAYPAAZpBYq5FWsJOz6qbC63bbiHR2mDzcF1AumFEpsgSpRUW9dGOWyoRr05otaQuK' +
  'MZzKSkhuzFylIjCmFa24J8uGl6KKltrGgrrNVsiSWbhmNXlmyoRCKbU1qReIWpnGp8zZyruLvYqb6du5poubuLV3nKil' +
  'XYaVVZVVYA==';

/** Rows: the first sign, columns: the second; those of ASCII, in its order. */
export const SIGNS = 32;
export const BETWEEN_SIGNS =
  'FYiIuWqICKiIDIhYiIiIiHAgJEsQoBEQAZMQBAAlJGo4A4iYiIiIiIiIyIiIiMjIjYiMgsiIgaiIiIjYiIwNiI2IiNOI' +
  'w4WICMiIiIiIyIiMKICIjIiIiIg4iIiIiIiIZikYJBxwERACl8FhCE04XACSCAAFjSU4gYjYFYgCCIjEhZiABoCAEAA8' +
  'KFF4h1VYjojo2kCBwz2o2PhoiI6IiIqJiIhYCIgjCAiIiIiIiMyBjIhMiIh8iIiIiIiIODiIi4MIwsiBDQiMQIiIyI3u' +
  'iPGI6EpXgIAIgIyIgJgJeIiGITh4YY9RCKLRENnKTBiIgYUYNYCDOgDSGPgyPYRIiIqIiMiIiIiIjIiIiIiIyIhdiIiI' +
  'iIiICIETiIiIiJiIgoEYA4yIiIyDAIhhiCg4OIOI+DBogjMxABDIaMj6SFhWiIiRWIiBgGP4CIWIjYiIiIiIiIjIiIiI' +
  'yIiIiPiIiICIiA2IgQ6AiIiIFQqCWIiCjYjYiIiKeIiIiMHIjLeIhIiIoDEQIhIDiNgCCI2EmI6I2IrIiIiIiHiIQYiM' +
  'jYjehajidYGHiI+M6KjICIjoisP4ZkyA0pJozIzHmJFIh5GIWG6IiIF4iIiAg4iMCBiMjIjIiIjoiIhYiHGKiICIhqaI' +
  'exiAUBUAjYfBaMI4CIiIiMWIiIiIiIiIiIiMiII=';
