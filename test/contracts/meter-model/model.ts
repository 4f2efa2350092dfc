import type { Reservation, ReserveResult } from '../../../lambdas/stores/meter-store.ts';

type Outcome = ReserveResult['outcome'];

/** One request in the model. */
export type Unit = {
  reservation: Reservation;
  state: 'none' | 'open' | 'charged' | 'refunded' | 'reaped';
  /** What its process remembers of the reservation: whether it had no response. */
  memory: 'none' | 'sure' | 'unsure';
  /** Of the same memory: whether its reserve was applied or may be. */
  mayHold: boolean;
  /** Its process was told that it is admitted. */
  isAdmitted: boolean;
  /** How its process began to settle it; there is no other way from then on. */
  settledBy: 'charge' | 'refund' | undefined;
  /** Its process settled it, or died. */
  isOver: boolean;
};

type Late = { sentAt: number; land: () => void };

/** Model of a meter: counters, requests and key ends, without their storage. */
export const createMeterModel = (start: number) => {
  const counts = new Map<string, number>();
  const units = new Map<string, Unit>();
  const keyEnds = new Map<string, number>();
  let late: Late[] = [];

  const minuteOf = (r: Reservation) => `minute ${r.minute}`;
  const periodOf = (r: Reservation) => `period ${r.period}`;
  const count = (name: string) => counts.get(name) ?? 0;
  const add = (name: string, amount: number) => counts.set(name, count(name) + amount);

  const isKeyEnded = ({ keyId, now }: Reservation) =>
    (keyEnds.get(keyId) ?? Number.POSITIVE_INFINITY) <= now;

  const openUnits = () => [...units.values()].filter(({ state }) => state === 'open');
  const reserved = (r: Reservation) =>
    openUnits().filter(({ reservation }) => reservation.period === r.period).length;

  const outcomeOf = (unit: Unit, r: Reservation): Outcome => {
    if (unit.state === 'open') return 'admitted';
    if (unit.state !== 'none' || r.minute <= model.floor) return 'too-late';
    return isKeyEnded(r) ? 'key-ended' : limitOf(r);
  };

  const limitOf = (r: Reservation): Outcome => {
    if (count(periodOf(r)) - reserved(r) >= r.quota) return 'quota-exhausted';
    if (count(minuteOf(r)) >= r.rpm) return 'rate-limited';
    if (count(periodOf(r)) >= r.quota) return 'quota-reserved';
    return openUnits().length >= (r.concurrency ?? 99) ? 'concurrency-reached' : 'admitted';
  };

  const take = (unit: Unit, r: Reservation): Outcome => {
    const outcome = outcomeOf(unit, r);
    if (outcome === 'admitted' && unit.state === 'none') {
      unit.state = 'open';
      unit.reservation = r;
      add(minuteOf(r), 1);
      add(periodOf(r), 1);
    }
    return outcome;
  };

  const giveBack = (unit: Unit, state: 'refunded' | 'reaped'): boolean => {
    if (unit.state !== 'open') return false;
    add(periodOf(unit.reservation), -1);
    unit.state = state;
    return true;
  };

  const model = {
    now: start,
    /** The last minute that the store has closed; it chooses when, within limits (commands.ts). */
    floor: 0,
    limits: { rpm: 3, quota: 4, concurrency: 3 },
    keys: ['key_0'],
    units,
    take,
    giveBack,
    charge: (unit: Unit): void => {
      if (unit.state === 'open') unit.state = 'charged';
    },
    endKey: (keyId: string, end: number) => {
      keyEnds.set(keyId, Math.min(end, keyEnds.get(keyId) ?? end));
    },
    standing: (r: Reservation) => ({
      minuteCount: count(minuteOf(r)),
      periodCount: count(periodOf(r)),
      reservedCount: reserved(r),
      inFlightCount: openUnits().length,
      isKeyEnded: isKeyEnded(r),
    }),
    delay: (sentAt: number, land: () => void) => late.push({ sentAt, land }),
    landLate: () => late.shift()?.land(),
    /** When the oldest write in flight was signed. */
    oldestLate: () => late[0]?.sentAt,
    expireLate: () => {
      late = [];
    },
  };
  return model;
};

export type MeterModel = ReturnType<typeof createMeterModel>;
