/** Splits a text losslessly into words, each with the white space before it. */
export const words = (text: string): string[] => text.match(/\s+\S*|\S+/g) ?? [];

/** The embedded model's tokens are words, so that a test's author can count them. */
export const countTokens = (text: string): number => words(text).length;
