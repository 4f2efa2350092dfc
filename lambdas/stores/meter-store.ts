import type { BudgetRefusal, BudgetView, Lease } from './budget-store.ts';

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
   * Label of the period that contains the minute, and part of its counter's name, so that a period resets without
   * a job: the ISO 8601 prefix common to all instants of the period (`2026-11`, `2026-11-21`, `2026-11-21T09`).
   */
  period: string;
  rpm: number;
  quota: number;
  /** Requests in flight at once; unlimited when undefined. */
  concurrency?: number | undefined;
  /** Milliseconds since the epoch. */
  now: number;
  /** Another process may have reserved the request before: the same unit is used again. */
  isRepeat?: boolean;
  /** Of a request under budgets of dollars. */
  lease?: Lease;
};

/** Counts of the minute and the period; they include this request if it was admitted. */
export type MeterCounts = {
  minuteCount: number;
  /** Used and reserved units of the period. */
  periodCount: number;
  /** Of them, the units of requests in flight: a failure refunds them. */
  reservedCount: number;
  /** Requests in flight, of any period. */
  inFlightCount: number;
};

export type ReserveResult = MeterCounts & {
  outcome:
    | 'admitted'
    | LimitName
    /** The key was revoked, replaced or expired; a cached key record cannot override this. */
    | 'key-ended'
    /** The request was settled or its minute was closed before; it can never be admitted. */
    | 'too-late'
    /** A budget of dollars lends no more, as `refusal` explains. */
    | 'over-budget';
  refusal?: BudgetRefusal | undefined;
  /** The last minute that is closed, of a meter that is not sharded. */
  floor?: number | undefined;
  /** The budgets of a request that was admitted. */
  budgets?: BudgetView[] | undefined;
  /** Marks of dead processes exist: `reap` may refund units. */
  hasStaleMarks: boolean;
};

export type LimitName =
  /** The period's units are used. */
  | 'quota-exhausted'
  | 'rate-limited'
  /** The period's units are used or reserved: a failure of a request in flight makes room. */
  | 'quota-reserved'
  | 'concurrency-reached';

/**
 * The limit that denies one more request. An exhausted quota takes precedence, because waiting a minute would
 * not help, and a full minute takes precedence over requests in flight, which may end sooner.
 */
export const limitReached = (
  { minuteCount, periodCount, reservedCount, inFlightCount }: MeterCounts,
  { rpm, quota, concurrency }: Pick<Reservation, 'rpm' | 'quota' | 'concurrency'>,
): LimitName | undefined => {
  if (periodCount - reservedCount >= quota) return 'quota-exhausted';
  if (minuteCount >= rpm) return 'rate-limited';
  if (periodCount >= quota) return 'quota-reserved';
  return concurrency !== undefined && inFlightCount >= concurrency
    ? 'concurrency-reached'
    : undefined;
};

export type ReservedUnit = Pick<
  Reservation,
  'meterId' | 'requestId' | 'minute' | 'period' | 'lease'
>;

export type LeasedUnit = ReservedUnit & { lease: Lease };

/** Result of a read of a meter. */
export type UsageSnapshot = MeterCounts & {
  isKeyEnded: boolean;
  /** When the key was last admitted, in ms. */
  lastUsedAt: number | undefined;
  /** As in `ReserveResult`. */
  hasStaleMarks: boolean;
  /** Whether the query's unit, if it has one, is reserved and not settled. */
  isUnitOpen?: boolean;
};

/** Units of a period that can no longer change. */
export type EndedPeriod = { period: string; used: number };

/**
 * What requests need of the meters. Implemented by `createDynamoRequestMeters` (stores/dynamo/meter-store.ts).
 * @throws StoreUnavailable
 */
export type RequestMeters = {
  /** Reserves one unit of the minute and one of the period, or neither. Idempotent. */
  reserve(reservation: Reservation): Promise<ReserveResult>;
  /**
   * The same with limits that may be out of date. Undefined, and nothing is reserved, if the meter is sharded: it would
   * lend its units by these limits (dynamo/meter-shards.ts).
   */
  reserveUnconfirmed(reservation: Reservation): Promise<ReserveResult | undefined>;
  /**
   * Changes the lease of a reserved unit to so many nanos; why not, if a budget does not lend the difference. Idempotent.
   */
  changeLease(unit: LeasedUnit, nanos: number, now: number): Promise<BudgetRefusal | undefined>;
  /** Charges a reserved unit. Idempotent; no error if the unit was reaped. */
  charge(unit: ReservedUnit): Promise<void>;
  /** Returns the period's unit (the minute's stays used). Idempotent, also without a reservation. */
  refund(unit: ReservedUnit): Promise<void>;
  /** Returns both units of a request that no one has served. Idempotent. */
  withdraw(unit: ReservedUnit): Promise<void>;
  /** Refunds the units of processes that died before they settled them; returns how many. Idempotent. */
  reap(meterId: string, now: number): Promise<number>;
  /** A strongly consistent read of the counts; `unit` may be one that another process reserved. */
  readUsage(
    query: Pick<Reservation, 'meterId' | 'keyId' | 'minute' | 'period' | 'now'> & {
      unit?: ReservedUnit | undefined;
    },
  ): Promise<UsageSnapshot>;
  /** Counts a free call (models, count_tokens) of this minute; false if it would exceed `cap`. */
  admitFree(meterId: string, minute: number, cap: number): Promise<boolean>;
};

/** Implemented with `RequestMeters`. @throws StoreUnavailable */
export type ReservedUnits = {
  /** Whether the request has a unit that is not settled: it runs, or its process died within 17 minutes. */
  isReserved(meterId: string, requestId: string): Promise<boolean>;
};

/** Implemented by `createDynamoMeterStore` (stores/dynamo/meter-store.ts). @throws StoreUnavailable */
export type MeterStore = RequestMeters & {
  /**
   * The periods that ended and whose counts are final: no request in flight has a unit in them. They stay
   * until `forgetPeriods`, so that the history can move them.
   */
  endedPeriods(meterId: string, now: number): Promise<EndedPeriod[]>;
  /** Removes the counts of ended periods. Idempotent. */
  forgetPeriods(meterId: string, periods: string[]): Promise<void>;
  /** Denies the key's reservations from `validUntil` (ms) on. The earliest instant wins. */
  endKey(meterId: string, keyId: string, validUntil: number): Promise<void>;
  /** Denies the key's reservations at once, independent of any clock. `now` (ms) dates the mark. Irreversible. */
  revokeKey(meterId: string, keyId: string, now: number): Promise<void>;
};
