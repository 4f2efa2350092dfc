/** Marks what only this protocol has; also its name in the catalog. */
export const NAME = 'gemini';
