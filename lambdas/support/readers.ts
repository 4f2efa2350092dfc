/** Whether a value of unknown origin is an object with members. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The text of an escaped part of a URL; undefined if it is not escaped as the standard has it. */
export const decodeUri = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
};
