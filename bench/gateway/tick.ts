/** The time that processes of one machine share, in tenths of a millisecond since the epoch. */
export const tenths = (): number => Math.round((performance.timeOrigin + performance.now()) * 10);
