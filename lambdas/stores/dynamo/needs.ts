import type { Item } from './table.ts';

/**
 * Words for what a reader of the item has to know: `needs` of a key, a plan, a project or the root of a meter. A version
 * that adds a restriction or changes a layout adds a word to the items that have it, so that the version before rejects
 * these items and no others.
 */
export const NEEDS = 'needs';

/** Whether a reader that knows these words may use the item. */
export const isUnderstood = (item: Item, words: readonly string[] = []): boolean => {
  const needs = item[NEEDS] ?? [];
  return Array.isArray(needs) && needs.every((word) => words.includes(word));
};
