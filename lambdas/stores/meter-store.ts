/**
 * Counters of one meter. Every write contains the request's id and is conditional on it, so a repeated, lost or
 * late write cannot count twice. Limits are return values. The only error is `StoreUnavailable`; after it a
 * reservation may or may not have been applied, and `refund` resolves that.
 */
export type Reservation = {
  meterId: string;
  requestId: string;
  keyId: string;
  /** Minutes since the epoch, UTC. */
  minute: number;
  /**
   * Label of the period and part of its counter's name, so that a period resets without a job: the ISO 8601
   * prefix common to all instants of the period (`2026-11`, `2026-11-21`, `2026-11-21T09`).
   */
  period: string;
  rpm: number;
  quota: number;
  /** Milliseconds since the epoch. */
  now: number;
};

/** Counts of the minute and the period; they include this request if it was admitted. */
export type MeterCounts = { minuteCount: number; periodCount: number };

export type ReserveResult = MeterCounts & {
  outcome:
    | 'admitted'
    | 'rate-limited'
    /** Takes precedence over `rate-limited` when both limits are reached: waiting a minute would not help. */
    | 'quota-exhausted'
    /** The key was revoked, replaced or expired; a cached key record cannot override this. */
    | 'key-ended'
    /** The request's id was refunded before; it can never be admitted again. */
    | 'refunded';
  /** Marks of dead processes exist: `reap` may refund units. */
  hasStaleMarks: boolean;
  /** Units of the period belong to unfinished requests, so they may be refunded. */
  hasUnitsInFlight: boolean;
};

export type ReservedUnit = Pick<Reservation, 'meterId' | 'requestId' | 'minute' | 'period'>;

/** Result of a read of a meter. */
export type UsageSnapshot = MeterCounts & {
  isKeyEnded: boolean;
  /** When the key was last admitted, in ms. */
  lastUsedAt: number | undefined;
  /** As in `ReserveResult`. */
  hasStaleMarks: boolean;
  hasUnitsInFlight: boolean;
};

/** Implemented by `createDynamoMeterStore` (stores/dynamo/meter-store.ts). @throws StoreUnavailable */
export type MeterStore = {
  /** Takes one unit of the minute and one of the period, or neither. Idempotent. */
  reserve(reservation: Reservation): Promise<ReserveResult>;
  /** Charges the unit; called before the first content is sent. False if the unit was reaped. */
  commit(unit: ReservedUnit): Promise<boolean>;
  /** Returns the period's unit (the minute's stays used). Idempotent, also without a reservation. */
  refund(unit: ReservedUnit): Promise<void>;
  /** Removes a finished request's marks. Best effort: a later `reap` removes what remains. */
  close(unit: ReservedUnit): Promise<void>;
  /** Refunds the units of processes that died before their commit; returns how many. Idempotent. */
  reap(meterId: string, now: number): Promise<number>;
  /** A strongly consistent read of the counts. */
  readUsage(
    query: Pick<Reservation, 'meterId' | 'keyId' | 'minute' | 'period' | 'now'>,
  ): Promise<UsageSnapshot>;
  /** Denies the key's reservations from `validUntil` (ms) on. The earliest instant wins. */
  endKey(meterId: string, keyId: string, validUntil: number): Promise<void>;
  /** Denies the key's reservations at once, independent of any clock. `now` (ms) dates the mark. Irreversible. */
  revokeKey(meterId: string, keyId: string, now: number): Promise<void>;
  /** Counts a free call (models, count_tokens) of this minute; false if it would exceed `cap`. */
  admitFree(meterId: string, minute: number, cap: number): Promise<boolean>;
};
