/**
 * The counters of one meter, in verbs. Every write carries the request's id and is conditional on it, so
 * a repeated, lost or late write cannot count twice. A refusal is a value; only `StoreUnavailable` is thrown,
 * and after it a reservation may or may not have been taken: `refund` settles that.
 */
export type Reservation = {
  meterId: string;
  requestId: string;
  keyId: string;
  /** Minutes since the epoch, UTC. */
  minute: number;
  /**
   * Period label, part of the counter's name, so a period resets without a job. It is the ISO 8601 text
   * that all instants of the period begin with (`2026-11`, `2026-11-21`, `2026-11-21T09`).
   */
  period: string;
  rpm: number;
  quota: number;
  /** Milliseconds since the epoch. */
  now: number;
};

/** Counts of the minute and the period, this request included when it was admitted. */
export type MeterCounts = { minuteCount: number; periodCount: number };

export type ReserveResult = MeterCounts & {
  outcome:
    | 'admitted'
    | 'rate-limited'
    /** Wins over `rate-limited` when both limits are reached: the next minute would not help. */
    | 'quota-exhausted'
    /** The key was revoked or replaced; no cache can let it through. */
    | 'key-refused'
    /** The request's id was refunded before; it can never be admitted again. */
    | 'withdrawn';
  /** Units of dead processes were seen: `reap` would give some back. */
  leftovers: boolean;
};

export type ReservedUnit = Pick<Reservation, 'meterId' | 'requestId' | 'minute' | 'period'>;

/** What a meter stands at, without a write. */
export type UsageSnapshot = MeterCounts & {
  keyRefused: boolean;
  /** When the key was last admitted, in ms. */
  lastUsedAt: number | undefined;
  /** As in `ReserveResult`. */
  leftovers: boolean;
};

export type MeterStore = {
  /** Takes one unit of the minute and one of the period, or nothing at all. Safe to repeat. */
  reserve(reservation: Reservation): Promise<ReserveResult>;
  /** Makes the unit stick: called before the first content byte leaves. False if the unit was reaped. */
  commit(unit: ReservedUnit): Promise<boolean>;
  /** Gives the period's unit back (the minute's stays spent). Safe to repeat, or without a reservation. */
  refund(unit: ReservedUnit): Promise<void>;
  /** Forgets a finished request's traces. Best effort: a reaper does the same later. */
  close(unit: ReservedUnit): Promise<void>;
  /** Refunds the units of processes that died before their commit; returns how many. Safe to repeat. */
  reap(meterId: string, now: number): Promise<number>;
  /** A consistent read of the counts. */
  readUsage(
    query: Pick<Reservation, 'meterId' | 'keyId' | 'minute' | 'period' | 'now'>,
  ): Promise<UsageSnapshot>;
  /** Refuses the key's reservations from `validUntil` (ms) on; 0 is at once. The earliest instant wins. */
  endKey(meterId: string, keyId: string, validUntil: number): Promise<void>;
  /** Counts a free call (models, count_tokens) of this minute; false when over `cap`. */
  admitFree(meterId: string, minute: number, cap: number): Promise<boolean>;
};
