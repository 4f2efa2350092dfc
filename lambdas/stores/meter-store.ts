/**
 * The counters of one meter, in verbs. Every write carries the request's id and is conditional on it, so
 * a repeated, lost or late write cannot count twice. A refusal is a value; only an unreachable store throws.
 */
export type Reservation = {
  meterId: string;
  requestId: string;
  keyId: string;
  /** Minutes since the epoch, UTC. */
  minute: number;
  /** Period label, e.g. `2026-11`; part of the counter's name, so a period resets without a job. */
  period: string;
  rpm: number;
  quota: number;
  /** Milliseconds since the epoch. */
  now: number;
};

/** Counts of the minute and the period, this request included when it was admitted. */
export type MeterCounts = { minuteCount: number; periodCount: number };

export type ReserveResult =
  | ({ outcome: 'admitted' } & MeterCounts)
  | ({ outcome: 'rate-limited' } & MeterCounts)
  | ({ outcome: 'quota-exhausted' } & MeterCounts)
  /** The key was revoked or replaced; no cache can let it through. */
  | { outcome: 'key-refused' };

export type ReservedUnit = Pick<Reservation, 'meterId' | 'requestId' | 'minute' | 'period'>;

export type MeterStore = {
  /** Takes one unit of the minute and one of the period, or nothing at all. */
  reserve(reservation: Reservation): Promise<ReserveResult>;
  /** Makes the unit stick: called before the first content byte leaves. False if the unit was reaped. */
  commit(unit: ReservedUnit): Promise<boolean>;
  /** Gives the period's unit back (the minute's stays spent). Safe to call twice, or without a reservation. */
  refund(unit: ReservedUnit): Promise<void>;
  /** Forgets a finished request's traces. Best effort: a reaper does the same later. */
  close(unit: ReservedUnit): Promise<void>;
  /** Counts a free call (models, count_tokens) of this minute; false when over `cap`. */
  admitFree(meterId: string, minute: number, cap: number): Promise<boolean>;
};
