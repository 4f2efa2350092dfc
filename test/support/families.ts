/** The protocols of both sides that tests compare with each other, side by side. */
export const FAMILIES = ['chat', 'messages'] as const;
export type Family = (typeof FAMILIES)[number];
