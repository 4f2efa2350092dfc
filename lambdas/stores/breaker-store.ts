/** A target's breaker as all environments share it. Absent means closed. */
export type BreakerState = {
  /** Until when (ms) nobody calls the target; from then on one probe at a time. 0 once it has closed. */
  openUntil: number;
  /** How often it has opened in a row; each time it stays open longer. */
  openings: number;
  /** Grows with every transition, so that of two environments that saw the same state one writes. */
  version: number;
};

/** Verbs throw `StoreUnavailable` when the store does not answer, and nothing else. */
export type BreakerStore = {
  readBreaker(target: string): Promise<BreakerState | undefined>;
  /** Writes a transition; false if another environment was first. `seen` is the version it follows. */
  transitionBreaker(
    target: string,
    next: Omit<BreakerState, 'version'>,
    seen: number,
  ): Promise<boolean>;
  /** Takes the one probe of an open breaker whose time is up, until `until` (ms). */
  takeProbe(target: string, now: number, until: number): Promise<boolean>;
};
