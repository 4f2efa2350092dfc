/** A day of a project, and how much of it a run settles. */
export type DayRange = {
  projectId: string;
  day: string;
  /**
   * What began before it (ms) has been written, and is not read again. Undefined closes the day: its rows are
   * computed from all its entries, so that those that were later than that are counted too.
   */
  settledUntil?: number | undefined;
  /** Whether an open day is computed from all its entries, too. */
  isWhole?: boolean;
};

/** Whether nothing is taken from what earlier runs have settled. */
export const isAnew = ({ settledUntil, isWhole }: DayRange): boolean =>
  settledUntil === undefined || isWhole === true;

/** What begins before it is settled from now on. `until`: another run may have settled it further. */
export const boundOf = ({ settledUntil }: DayRange, until = 0): number =>
  Math.max(settledUntil ?? Number.POSITIVE_INFINITY, until);
