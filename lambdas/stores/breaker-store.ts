/** A target's breaker, shared by all environments. Absent means closed. */
export type BreakerState = {
  /** Open until this instant (ms), then half-open: one probe at a time. 0 when closed. */
  openUntil: number;
  /** Consecutive openings; each one lasts longer. */
  openings: number;
  /** Incremented by each transition: of two environments that read the same state, one writes. */
  version: number;
};

/** Implemented by `createDynamoBreakerStore` (stores/dynamo/breaker-store.ts). @throws StoreUnavailable */
export type BreakerStore = {
  readBreaker(target: string): Promise<BreakerState | undefined>;
  /** Writes the transition that follows version `seen`; false if another environment was first. */
  transitionBreaker(
    target: string,
    next: Omit<BreakerState, 'version'>,
    seen: number,
  ): Promise<boolean>;
  /** Acquires the only probe of a half-open breaker, until `until` (ms); false if another holds it. */
  takeProbe(target: string, now: number, until: number): Promise<boolean>;
};
