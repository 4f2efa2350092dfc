/** A share of a quota that a meter reached, in percent. */
export type Threshold = 50 | 80 | 100;

/** A changed quota has thresholds that were not reached before. */
export type ReachedThreshold = {
  meterId: string;
  /** Label of the meter's period. */
  period: string;
  quota: number;
  threshold: Threshold;
};

/** Implemented by `createDynamoThresholdStore` (stores/dynamo/threshold-store.ts). @throws StoreUnavailable */
export type ThresholdStore = {
  /** Of all environments one gets `claimed`, and another a minute later if it was not marked by then. */
  claim(reached: ReachedThreshold, now: number): Promise<'claimed' | 'busy' | 'announced'>;
  /** Idempotent. */
  markAnnounced(reached: ReachedThreshold): Promise<void>;
};
