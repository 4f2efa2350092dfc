/** A text in pieces that add up to it again: every word with the white space before it. */
export const words = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];

/** The embedded model's tokens are words, so that a test can count them by eye. */
export const countTokens = (text: string): number => words(text).length;
