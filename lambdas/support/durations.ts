export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;
/** Lambda's longest invocation. */
export const MAX_INVOCATION_MS = 900_000;
